"""Words that name a field rather than fill one: by them a column of names is known."""

from __future__ import annotations

import re

MOST_NAME_WORDS = 5
FIELD_NAMES = frozenset(
    """
    account address age agent amount answer area author balance bank batch beds birth birthday
    board born brand budget building capacity category cause city class client close code col colour
    color column columns comment comments company condition contact contents control cost costs count
    country created currency customer date day deadline degree delivery department depth description details
    device diagnosis diameter director discount dose dosage drug due duration edition email e-mail
    employee employer end expiry fax field file firm floor form format founded from function gender goal
    grade group guest head header heading headquarters height id industry instruction instructions
    invoice item job key kind label language last leader length level licence license limit line location
    lot maker manager manufacturer material measure method mobile model month name names nationality
    note notes number nurse occupation office open opened opening order organisation organization
    origin owner page parent part patient payment period person phone place plan population position
    postcode power pressure price priority process product profession project property publisher
    purpose quantity question rate rating reason reference region remark remarks responsible result
    revenue role room route salary scope section sector sender serial series server sex shift signed
    site size source speed staff start state station status stock street subject supplier surname
    symbol table target task tax team telephone temperature term terms test time title to topic
    total type unit units until user vacancy value vendor version visit voltage volume ward warranty
    website weight width year years zip
    abteilung adresse alter anschrift anzahl art artikel aufgabe autor beginn bemerkung bereich
    beruf beschreibung bestand betrag betreff bezeichnung breite chargennummer datum dauer diagnose
    dosis einheit ende ergebnis fassung farbe firma frist geburtsdatum geburtsort geschlecht gewicht
    größe grund gruppe hersteller höhe inhaber jahr kategorie kosten kunde land leistung leiter
    leitung lieferant länge marke maße menge nachname name nummer ort patient pflege plz preis
    produkt projekt raum rechnung seriennummer sitz spalte sprache stadt standort station status stelle
    straße strasse summe telefon titel typ uhrzeit umsatz unternehmen ursache version verwendung
    vorname wert wohnort zeit zeitraum zimmer ziel zweck zuständig
    adresse âge auteur catégorie colonne date description durée fabricant fonction lieu marque modèle
    montant nom numéro pays poids prénom prix quantité référence réponse salle service taille
    téléphone titre total type valeur ville année
    apellido cantidad ciudad código columna descripción dirección fecha fabricante marca modelo nombre
    número país peso precio sala teléfono tipo valor año
    """.split()  # noqa: SIM905
)
SMALL_WORDS = frozenset("and of the no de del der des du et la und y".split())  # noqa: SIM905
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def is_field_name(text: str) -> bool:
    """Whether one of a few words is usual as the name of a field.

    >>> [is_field_name(text) for text in ("Order number", "Hersteller", "Juniper", "12")]
    [True, True, False, False]
    """
    return bool(field_words(text))


def field_words(text: str) -> set[str]:
    """The usual names of fields in a few words.

    >>> field_words("Head of the ward") == {"head", "ward"}, field_words("Juniper")
    (True, set())
    """
    words = _WORD.findall(text.casefold())
    return set(words) & FIELD_NAMES if len(words) <= MOST_NAME_WORDS else set()


def is_only_field_name(text: str) -> bool:
    """Whether nothing but usual names of fields stands in it, so that it hardly fills one.

    >>> [is_only_field_name(text) for text in ("Date of order", "Ward Elm", "12")]
    [True, False, False]
    """
    words = set(_WORD.findall(text.casefold())) - SMALL_WORDS
    return bool(words) and words <= FIELD_NAMES
