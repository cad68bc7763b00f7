"""Reading the rotary embedding out of a model's config file."""

from rope_lib.config._rope_config import RopeConfig, RopeConfigError

__all__ = ["RopeConfig", "RopeConfigError"]
