-- Set `edited_at` when one of the columns below changes. Nothing clears this time.
CREATE OR REPLACE FUNCTION subscriber_is_edited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.edited_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER subscriber_is_edited BEFORE UPDATE ON subscriber FOR EACH ROW
    WHEN ((OLD.email, OLD.name, OLD.fields, OLD.tags, OLD.left_topics, OLD.state, OLD.edited_at)
          IS DISTINCT FROM
          (NEW.email, NEW.name, NEW.fields, NEW.tags, NEW.left_topics, NEW.state, NEW.edited_at))
    EXECUTE FUNCTION subscriber_is_edited();
