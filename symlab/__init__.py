"""What all methods share: data, models, trainer, records."""
