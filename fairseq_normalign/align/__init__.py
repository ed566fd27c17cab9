"""The work, whatever the host: what is read, where, in which direction, and how a long job runs."""
