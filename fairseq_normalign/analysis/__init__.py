"""Statistics of attention, layers and heads, choice of a layer, comparison of systems."""
