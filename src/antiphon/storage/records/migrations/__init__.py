"""How the database gets from each schema that was released to the latest one."""
