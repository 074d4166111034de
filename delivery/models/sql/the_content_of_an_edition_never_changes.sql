-- What readers got is what was published: content and audience of an edition never change.
CREATE OR REPLACE FUNCTION the_content_of_an_edition_never_changes()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the content of edition % never changes after publishing', OLD.id
        USING ERRCODE = 'integrity_constraint_violation',
              HINT = 'Publish a correction as a new version.';
END $$;

CREATE OR REPLACE TRIGGER the_content_of_an_edition_never_changes
    BEFORE UPDATE OF issue_id, version, kind, stream, title, html_content, text_content, html_mail,
                     text_mail, content_hash, archive_url
    ON edition FOR EACH ROW
    WHEN ((OLD.issue_id, OLD.version, OLD.kind, OLD.stream, OLD.title, OLD.html_content,
           OLD.text_content, OLD.html_mail, OLD.text_mail, OLD.content_hash, OLD.archive_url)
          IS DISTINCT FROM
          (NEW.issue_id, NEW.version, NEW.kind, NEW.stream, NEW.title, NEW.html_content,
           NEW.text_content, NEW.html_mail, NEW.text_mail, NEW.content_hash, NEW.archive_url))
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();

CREATE OR REPLACE TRIGGER the_preheader_of_an_edition_never_changes
    BEFORE UPDATE OF preheader ON edition FOR EACH ROW
    WHEN (OLD.preheader IS DISTINCT FROM NEW.preheader)
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();

CREATE OR REPLACE TRIGGER the_audience_of_an_edition_never_changes
    BEFORE UPDATE OF merge_fields, with_tags, without_tags ON edition FOR EACH ROW
    WHEN ((OLD.merge_fields, OLD.with_tags, OLD.without_tags)
          IS DISTINCT FROM (NEW.merge_fields, NEW.with_tags, NEW.without_tags))
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();
