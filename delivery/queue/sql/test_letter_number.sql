-- The versions of test letters. A version has at most nine digits (delivery/rules/delivery_key.py).
CREATE SEQUENCE test_letter_number MAXVALUE 999999999;
