greet "${1:-world}"
