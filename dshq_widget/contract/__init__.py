"""Names that everybody shares: settings, protocol, presets, version. Plain tables; nothing here plays or learns."""
