"""A function that writes an address with the Unicode spelling of its domain, for searches."""

from django.db import migrations

# Punycode (RFC 3492, 6.2). A label that is not valid stays as it is. The bounds keep the numbers
# small: a code point has at most 21 bits, and a label at most 63 characters.
FUNCTIONS = """
CREATE FUNCTION unicode_label(label text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    encoded text := substring(label FROM '[^-]*$');
    decoded text := substr(label, 5, greatest(length(label) - length(encoded) - 5, 0));
    code bigint := 128;
    place bigint := 0;
    bias integer := 72;
    before bigint;
    weight bigint;
    step integer;
    digit integer;
    threshold integer;
    delta bigint;
BEGIN
    WHILE encoded <> '' LOOP
        before := place;
        weight := 1;
        step := 36;
        LOOP
            digit := strpos('abcdefghijklmnopqrstuvwxyz0123456789', left(encoded, 1)) - 1;
            IF encoded = '' OR digit < 0 OR weight > 71303168 THEN
                RETURN label;
            END IF;
            encoded := substr(encoded, 2);
            place := place + digit * weight;
            threshold := greatest(1, least(26, step - bias));
            EXIT WHEN digit < threshold;
            weight := weight * (36 - threshold);
            step := step + 36;
        END LOOP;
        delta := (place - before) / CASE WHEN before = 0 THEN 700 ELSE 2 END;
        delta := delta + delta / (length(decoded) + 1);
        bias := 0;
        WHILE delta > 455 LOOP
            delta := delta / 35;
            bias := bias + 36;
        END LOOP;
        bias := bias + 36 * delta / (delta + 38);
        code := code + place / (length(decoded) + 1);
        place := place % (length(decoded) + 1);
        IF code > 1114111 OR code BETWEEN 55296 AND 57343 THEN
            RETURN label;
        END IF;
        decoded := overlay(decoded PLACING chr(code::integer) FROM place::integer + 1 FOR 0);
        place := place + 1;
    END LOOP;
    RETURN decoded;
END
$$;

CREATE FUNCTION unicode_address(address text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT split_part(address, '@', 1) || '@' || string_agg(
               CASE WHEN label LIKE 'xn--%' THEN unicode_label(label) ELSE label END, '.'
               ORDER BY number)
      FROM regexp_split_to_table(split_part(address, '@', 2), '[.]')
           WITH ORDINALITY AS labels (label, number)
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0023_statements_about_lists")]

    operations = [
        migrations.RunSQL(
            FUNCTIONS,
            "DROP FUNCTION unicode_address(text); DROP FUNCTION unicode_label(text);",
        )
    ]
