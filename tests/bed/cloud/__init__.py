"""The bed: a cloud on one machine. `front` answers for AWS, `nodes` runs a container per instance."""
