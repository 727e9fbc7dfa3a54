"""Who may do what: roles and policies in Cedar. ``functions`` are what there is to do, ``policies`` the built-in ones."""
