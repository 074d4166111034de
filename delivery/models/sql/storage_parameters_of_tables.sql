-- A delivery is inserted once and updated once. Pages are filled only half, so that the second
-- version of a row fits on the page of the first version. An update within one page changes no
-- index (docs/decisions/0005).
ALTER TABLE delivery SET (
    fillfactor = 45,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02);

-- These tables have a few rows that change often. With free space on its page, a changed row stays
-- on this page. Vacuum starts after a fixed number of changes, because a share of so few rows would
-- be too small a number.
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

-- These tables grow with every call or event and lose old rows. By default the server vacuums after
-- a fifth of the rows has changed, which could be a million dead rows.
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
