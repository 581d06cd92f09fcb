[ "$(theme light)" = "#ffffff" ]
