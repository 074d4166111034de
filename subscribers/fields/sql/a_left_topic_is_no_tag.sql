ALTER TABLE subscriber ADD CONSTRAINT a_left_topic_is_no_tag CHECK (NOT tags && left_topics);
