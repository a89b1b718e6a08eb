"""Tests here are coroutines."""

from tests.game.conftest import pytest_pyfunc_call as pytest_pyfunc_call
