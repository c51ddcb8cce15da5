#!/usr/bin/env python3
"""Prints ray_images.def: the images that Ray takes where a cluster file names none, by region.

Run with the Python that has Ray:  python make_ray_images.py > ray_images.def
"""

import ray
from ray.autoscaler._private.aws import config


def main():
    print(f"/* ray_images.def: Ray {ray.__version__}'s default image by region, written by "
          "make_ray_images.py. */")
    for region, image in config.DEFAULT_AMI.items():
        print(f'RAY_IMAGE("{region}", "{image}")')


if __name__ == "__main__":
    main()
