-- A delivery is inserted once and updated once. Half-empty pages keep the second version of a row
-- on the first one's page, so that no index is touched (docs/decisions/0005).
ALTER TABLE delivery SET (
    fillfactor = 45,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);

-- These tables have a few rows that change often. With free space on their page the rows stay
-- there, and vacuum goes by count, since a share of a few rows is nothing.
ALTER TABLE batch SET (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 500,
    autovacuum_vacuum_cost_delay = 0);
ALTER TABLE periodic_task SET (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 200,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 500);
ALTER TABLE send_rate SET (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 200,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 500);
ALTER TABLE metric_value SET (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 200,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 500);
ALTER TABLE worker SET (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 200,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 500);

-- These tables grow with every call or event and lose old rows. A fifth of them, the server's
-- default, would be a million dead rows.
ALTER TABLE attempt SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE evidence SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE provider_event SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);
