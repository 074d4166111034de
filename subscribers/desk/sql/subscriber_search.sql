-- Create the index that finds any part of a reader's address or name
-- (subscribers/desk/reader_list.py). It needs the extension pg_trgm. PostgreSQL first puts new
-- entries into a list of pending entries, which each search reads as a whole, so the limit keeps
-- this list short.
CREATE INDEX subscriber_search ON subscriber
    USING gin (lower((email || chr(10) || name) COLLATE "default") gin_trgm_ops)
    WITH (gin_pending_list_limit = 512);
