"""The static site (`make site`): what mkdocs reads is written here, from the documents, the registry of drills, the
lessons' pages and the package's docstrings. Nothing here is imported by the package.
"""
