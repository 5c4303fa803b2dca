"""Buses; `cobre.elements` says what each module holds."""
