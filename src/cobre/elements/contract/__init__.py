"""Energy contracts; `cobre.elements` says what each module holds."""
