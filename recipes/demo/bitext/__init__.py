"""A grammar of German and English that writes sentence pairs and knows which word translates which."""
