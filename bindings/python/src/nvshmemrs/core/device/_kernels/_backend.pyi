# What each frontend's package has in a module of this name; checkers of types are told no more.
from typing import Any

def __getattr__(name: str) -> Any: ...
