-- The index for any part of a reader's address or name, as subscribers/desk/reader_list.py searches.
-- It needs the extension pg_trgm. A search reads the whole list of pending entries, so the list is
-- short.
CREATE INDEX subscriber_search ON subscriber
    USING gin (lower((email || chr(10) || name) COLLATE "default") gin_trgm_ops)
    WITH (gin_pending_list_limit = 512);
