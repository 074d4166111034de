-- Create the index that finds any part of a reader's address or name
-- (subscribers/desk/reader_list.py). It needs the extension pg_trgm. A search also reads the
-- index's whole list of pending entries, so this list is kept short.
CREATE INDEX subscriber_search ON subscriber
    USING gin (lower((email || chr(10) || name) COLLATE "default") gin_trgm_ops)
    WITH (gin_pending_list_limit = 512);
