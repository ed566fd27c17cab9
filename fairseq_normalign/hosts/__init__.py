"""The toolkits whose models are read, one folder each: the only places that import them."""
