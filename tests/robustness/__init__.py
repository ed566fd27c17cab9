"""Attacks on the whole: bad input, mutated files, NaN, kills, hostile files, long runs. See SECURITY.md."""
