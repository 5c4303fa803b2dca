"""Pumping stations; `cobre.elements` says what each module holds."""
