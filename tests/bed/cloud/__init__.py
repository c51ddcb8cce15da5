"""The bed, a cloud on one machine: `front` answers for AWS, `nodes` runs the instances."""
