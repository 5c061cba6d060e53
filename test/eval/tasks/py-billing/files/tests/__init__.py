"""Tests of billing."""
