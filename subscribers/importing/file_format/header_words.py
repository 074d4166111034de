"""The words of headers in many languages."""

import unicodedata

# Only this number of a header's characters is compared. All words below are shorter, but a cell may
# have millions of characters.
_LONGEST = 200


def key(header: str) -> str:
    """Reduce a header to its letters and digits, in lower case and without accents."""
    plain = unicodedata.normalize("NFKD", header[:_LONGEST].casefold())
    return "".join(character for character in plain if character.isalnum())


def keys(words: str) -> frozenset[str]:
    """Return the keys of the words in a text with commas or line breaks between words."""
    return frozenset(map(key, words.replace("\n", ",").split(","))) - {""}


# A header with one of these words names a column of addresses, whatever values the column has.
ADDRESS = keys("""
    email, mail, e-mail 1, email 1, e-mail 1 - value, email value, email id, emails, mails,
    email address, mail address, email addresses, your email, your email address, primary email,
    contact email, subscriber email, user email, work email, member email, email adresse,
    mail adresse, email adressen, mailadressen, e-post, e-postadresse, elektronische Post,
    e-postadress, mejl, mejladress, e-postadres, e-mailadres, mailadres, sähköposti,
    sähköpostiosoite, correo, correo electrónico, dirección de correo,
    dirección de correo electrónico, dirección email, correu, correu electrònic,
    adreça electrònica, posta elektronikoa, courriel, adresse courriel, adresse de courriel,
    adresse mail, adresse email, adresse électronique, adresse de messagerie,
    courrier électronique, mél, posta, posta elettronica, indirizzo email, indirizzo mail,
    indirizzo di posta elettronica, correio, correio eletrónico, correio electrónico,
    endereço de email, endereço de e-mail, endereço email, endereço eletrónico,
    endereço de correio eletrónico, poczta, poczta elektroniczna, adres email, adres e-mail,
    adres mailowy, emailová adresa, e-mailová adresa, adresa e-mail, adresa email, e-mail cím,
    email cím, e-mail-cím, e-pošta, epošta, e-pasts, el. paštas, e-postiaadress, e-posti aadress,
    netfang, tölvupóstur, e-posta, eposta, e-posta adresi, ηλεκτρονικό ταχυδρομείο,
    ηλεκτρονική διεύθυνση, ηλ. ταχυδρομείο, почта, электронная почта, эл. почта,
    адрес электронной почты, имейл, электронный адрес, мейл, електронна пошта, електронна адреса,
    ел. пошта, е-пошта, имејл, メール, メールアドレス, Eメール, 電子メール, 邮箱, 电子邮件,
    电子邮箱, 邮件地址, 電子郵件, 電郵, 信箱, 이메일, 메일, 이메일 주소, 전자우편,
    البريد الإلكتروني, بريد إلكتروني, ایمیل, דוא"ל, דואל, אימייל, ईमेल
""")
# These headers may also mean a postal address or a telephone number. A column with such a header
# counts as e-mail addresses only if its values in the sample are e-mail addresses.
_PERHAPS_ADDRESS = keys("""
    address, adresse, adress, adres, adresa, aadress, osoite, cím, dirección, indirizzo, endereço,
    adreça, contact, kontakt, contacto, contatto, contato, recipient, subscriber, reader, to,
    адрес, адреса, 地址
""")
_PARTS_OF_PERHAPS_ADDRESS = ("mail", "correo", "courriel", "correio", "posta", "почт")

FULL_NAME = keys("""
    full name, fullname, display name, complete name, your name, contact name, subscriber name,
    first and last name, first name and last name, first name last name, name and surname,
    vollständiger name, vor- und nachname, vorname nachname, vorname und nachname, ganzer name,
    nom complet, nom et prénom, prénom et nom, nom prénom, prénom nom, nombre completo,
    nombre y apellidos, nombre y apellido, nome completo, nome e cognome, nome e apelido,
    nome cognome, nome e sobrenome, volledige naam, fullt navn, fulde navn, fullständigt namn,
    koko nimi, imię i nazwisko, jméno a příjmení, celé jméno, meno a priezvisko, teljes név,
    nume complet, ime i prezime, ime in priimek, ad soyad, adı soyadı, ονοματεπώνυμο, фио,
    полное имя, імя та прізвище, 氏名, お名前, 姓名, 성명
""")
# If another column has only first names, a column with one of these headers has the last names, and
# vice versa.
NAME = keys("""
    name, names, nom, nombre, nome, naam, navn, namn, nimi, nimed, név, jméno, meno, ime, nume,
    numele, nafn, vārds, isim, ad, όνομα, имя, имена, імя, 名前, 名字, 이름, الاسم, نام, שם, नाम,
    reader, subscriber
""")
GIVEN_NAME = keys("""
    first name, firstname, first, given name, given, forename, fname, christian name, vorname,
    rufname, prénom, prénoms, nombre de pila, nom de pila, primeiro nome, nome próprio, voornaam,
    fornavn, förnamn, etunimi, imię, křestní jméno, keresztnév, utónév, prenume, eesnimi, vardas,
    имя собственное
""")
FAMILY_NAME = keys("""
    last name, lastname, last, surname, family name, family, lname, nachname, familienname, zuname,
    nom de famille, apellido, apellidos, primer apellido, cognom, cognoms, cognome, apelido,
    apelidos, sobrenome, último nome, achternaam, familienaam, etternavn, efternavn, efternamn,
    sukunimi, nazwisko, příjmení, priezvisko, vezetéknév, családnév, nume de familie, prezime,
    priimek, perekonnanimi, pavardė, uzvārds, soyad, soyadı, soyisim, επώνυμο, фамилия, прізвище,
    姓, 성
""")


_TAGS = keys("""
    tags, tag, labels, schlagwörter, schlagworte, étiquettes, etiquetas, etichette, tagi, etiketten,
    الوسوم, תגיות
""")
# Headers for the date of a sign-up, the most certain first: the date of a confirmation, then of a
# sign-up, then of being added to the list.
SINCE = (
    keys("confirm time, confirmed at, confirmed on, confirmation date, confirmed"),
    keys("""
        optin time, opt in time, opt in date, signed up, signed up at, signup date, sign up date,
        signup time, subscribed at, subscribed on, subscribe date, subscription date,
        date subscribed, subscribed, joined, join date, date joined, anmeldedatum,
        date d'inscription, fecha de suscripción, data de inscrição, data di iscrizione
    """),
    keys("created at, created, creation date, date created, date added, added at, start date"),
)
OTHERS = {
    "tags": (_TAGS,),
    "left_topics": (keys("left topics"),),
    "consent": (keys("consent history, consent note, consent source, proof of consent"),),
}

_KNOWN = ADDRESS | FULL_NAME | NAME | GIVEN_NAME | FAMILY_NAME | _TAGS


def may_be_address(word: str) -> bool:
    """Return whether a header with this key may name a column of addresses."""
    return word in _PERHAPS_ADDRESS or any(part in word for part in _PARTS_OF_PERHAPS_ADDRESS)


def is_known(word: str) -> bool:
    """Return whether a header with this key is known."""
    return may_be_address(word) or word in _KNOWN
