"""The source layer: any kind of target, read as paths from an import root and their bytes."""
