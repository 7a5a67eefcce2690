"""The application: run one configuration, fill a table, publish it."""
