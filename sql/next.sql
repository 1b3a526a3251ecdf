SELECT snowflake_machine(snowflake_next());
