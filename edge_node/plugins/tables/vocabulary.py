"""Words of questions about tables, English and German: which say what is to be done, and which mean one thing in office tables."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from functools import lru_cache

WORD = re.compile(r"\d+(?:[.,:]\d+)+|\w+(?:[-./:]\w+)*")
LEAST_SAME = 0.8  # difflib's ratio, from which on one word is another one, misspelt
LEAST_SAME_SHORT = 0.88  # of a word of four letters: one more or less
LEAST_MISSPELT = 5  # letters of a longer word
COMMON_BEGINNING = 0.7  # share of the longer of two words, from which on they are forms of one word

SMALL = frozenset(
    """
    a about after again all also am an and any are as at be been before being but by can could did do does doing for from had has have her
    here his how i if in into is it its just me may might more must my no not of off on one ones only or other our out over per please shall
    she should so some such than that the their them then there these they this those to under until up us was we were what when where which
    while who whom whose why will with within without would you your
    ab aber alle allem allen aller alles als am an auch auf aus bei bin bis bitte da damit dann das dass dem den der des die dies diese
    diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es für gab gegen gibt haben hat hatte hatten ich ihr
    ihre im in ins ist ja jede jedem jeden jeder jedes kann kein keine man mehr mein mit nach nicht noch nun nur ob oder ohne pro sein seine
    seit sich sie sind so soll über um und uns unser unter vom von vor war waren was welche welchem welchen welcher welches wem wen wenn
    wer werden wessen wie wieviel wieviele wir wird wo wurde wurden zu zum zur zwischen
    actually current currently get gets give given got happen happened have know let made make makes mention mentioned name named need needs
    now our overall record recorded records say says see show shown shows still tell there use used uses using want whole
    wann wo warum wieso muss müssen darf dürfen soll sollen kann können since through both
    already ever yet far mal bereits schon je jemals bisher noch los geht
    angeben anzeigen bekommen derzeit gemacht liegt momentan nenne nennen sagen steht stehen verwendet zeige zeigen zurzeit
    """.split()  # noqa: SIM905 - a list would be a page long
)
DOING = frozenset(  # what a query does, or compares by
    """
    above aggregate amount average below best between big biggest both bottom cheapest combined compare compared count counts different
    difference differ each earliest entries entry every exceed exceeded exceeding exceeds exactly fewer fewest first high higher highest
    large larger largest last late latest least less list lists long longer longest low lower lowest many max maximal maximum mean min
    minimal most much number numbers oldest newest overall part percent percentage point points quantity rank ranked ratio row rows share
    short shorter shortest small smaller smallest smallest sorted sum summed the three times together top total totals two twice under worst
    zero nothing never once expensive costliest second third early earlier later soonest
    change changed changes decrease decreased fell grew grow grown grows increase increased rise risen rose shrank soar
    gestiegen gesunken gewachsen steigt sinkt wächst hoch lang lange groß klein oft häufig teuer billig alt neu spät früh schnell
    addiert anzahl beide beiden durchschnitt durchschnittlich durchschnittliche durchschnittlichen einzigen erste ersten erster früheste
    frühesten gesamt gesamte gesamten geringste geringsten größte größten höchste höchsten höher insgesamt kleiner kleinste kleinsten
    kürzeste kürzesten längste längsten letzte letzten liste maximal meiste meisten mindestens minimal mittel mittlere mittleren niedriger
    niedrigste niedrigsten niedrigster prozent prozentpunkte rund summe teuerste teuersten unterschied differenz viel viele vielen weniger
    wenigsten zahl zusammen zwei drei unterhalb oberhalb älteste ältesten neueste neuesten billigste günstigste schnellste langsamste
    """.split()  # noqa: SIM905
)
UNITS = frozenset(  # that a question may name, and a heading leave out
    "eur euro euros usd chf gbp kg g mg µg ml l km m mm cm m² m³ m3 kwh mwh kw bar ntu min h hrs hours days".split()  # noqa: SIM905
)
SOFT = UNITS | frozenset(  # and nouns that say no more than that there is a value
    "value values figure figures level levels reading readings content wert werte".split()  # noqa: SIM905
)
MONEY = re.compile(
    r"\b(?:costs?|prices?|priced|pays?|paid|earns?|earned|expensive|costly|costliest|cheap\w*|salary|salaries|wages?"
    r"|kosten|kostet\w*|preise?|teuer\w*|teurer|teuerste\w*|billig\w*|günstig\w*|verdien\w*|gehalt|bezahl\w*)\b",
    re.IGNORECASE,
)
MONEY_HEADING = re.compile(
    r"costs?\b|price|kosten|preis|\beur\b|euro|[€$£]|\b(?:usd|chf|gbp)\b|value|wert|amount|betrag|budget|spent|fees?\b|charge|salary|gehalt|paid"
    r"|umsatz|revenue|sales|gebühr|tari",
    re.IGNORECASE,
)
_GROUPS = """
amount betrag value wert
approved genehmigt freigegeben released
article artikel item product produkt material
bed betten bett
bill rechnung invoice
building gebäude haus
burst rohrbruch bruch break leak
cause ursache grund reason
chemical chemikalien chemie
city stadt ort town
close schließen closed geschlossen
code kürzel abkürzung
colour farbe color
complaint beschwerde reklamation
contract vertrag
cost kosten kostet costs price preis charge fee gebühr tariff tarif
expense ausgaben ausgegeben spent
eur euro
budget haushalt
insurance insurer versicherung versicherer
country land
customer kunde kunden client household
damage schaden defect defekt mangel fault störung failure ausfall trip
date datum day tag wann when
deadline frist due fällig
deliver liefern geliefert lieferung delivery delivered
department abteilung unit
device gerät equipment
district bezirk stadtteil ortsteil gebiet area
downtime ausfallzeit stillstand
drug arznei medikament medicine medication
duration dauer hours minutes stunden minuten time zeit
earn verdienen verdient salary gehalt wage lohn
electricity strom energy energie power kwh consumption verbrauch
employee mitarbeiter personal staff fte headcount stellen
event ereignis vorfall incident
exchange tausch austausch replacement
expire ablaufen abläuft expiry verfall verfallen haltbar haltbarkeit ablauf expires
fall sturz stürze gestürzt
flow durchfluss
fridge kühlschrank refrigerator
hour stunde stunden
injury verletzung verletzt injured
inspection prüfung inspected geprüft tüv check test
invoice rechnung
kind art type typ sort category kategorie
laid verlegt built gebaut baujahr
late verspätet delayed
lead lieferzeit vorlaufzeit
lane spur
limit grenzwert grenze threshold
location ort standort place site
loss verlust verluste lost verloren
manager leiter leitung head chef
measure maßnahme action
medicine medikament
meter zähler
minimum mindestbestand mindestmenge
mobile handy mobil
month monat
next nächste nächsten nächster
operator bediener
open offen
opening öffnung
order bestellung bestellt ordered auftrag
owner eigentümer
patient patienten
paid bezahlt payment zahlung
person who wer mitarbeiter name
phone telefon extension ext durchwahl rufnummer nummer
pipe rohr leitung main
plant werk wasserwerk
plate kennzeichen nummernschild registration
pressure druck
probe sample
project projekt
pump pumpe pumpen
quality qualität
quantity menge stück pieces
quarter quartal
received eingegangen erhalten
region region
repair reparatur repaired repariert
reply antwort beantwortet response
responsible zuständig verantwortlich
result ergebnis
road straße
room zimmer raum
sale verkauf umsatz revenue sales
serial seriennummer
shelf regal fach lagerplatz
shift schicht
staff personal
state zustand status condition
stock bestand lager vorrat vorrätig lagerbestand
street straße str
supplier lieferant hersteller lieferanten vendor
table tabelle
tablet tablette
temperature temperatur
turbidity trübung
valve schieber ventil absperrschieber
vehicle fahrzeug auto car truck
vacant unbesetzt offen vacancy
ward station
water wasser
well brunnen
width breite
week woche kw
weight gewicht
year jahr
"""

_FORMS: dict[str, frozenset[str]] = {}


def folded(text: str) -> str:
    """Text in lower case without accents; umlauts as their vowels.

    >>> folded("Mühlrain, Straße")
    'muhlrain, strasse'
    """
    return "".join(sign for sign in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(sign))


def stem(word: str) -> str:
    """A word without the commonest endings of both languages, in folded form.

    >>> [stem(word) for word in ("Suppliers", "lost", "Pumpen", "IS-200", "caused", "causes", "deliveries")]
    ['supplier', 'lost', 'pump', 'is-200', 'caus', 'caus', 'deliver']
    """
    word = folded(word)
    if not word.isalpha():
        return word
    for ending in ("ungen", "ing", "ies", "ed", "es", "en", "e", "s", "y"):
        least = 3 if ending == "s" else 4
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def meanings(word: str) -> frozenset[str]:
    """The stems of all words that mean the same in office tables, the word's own among them."""
    if not _FORMS:
        found = dict[str, set[str]]()
        for line in _GROUPS.strip().splitlines():
            stems = {stem(one) for one in line.split()}
            for one in stems:
                found.setdefault(one, set()).update(stems)
        _FORMS.update({one: frozenset(stems) for one, stems in found.items()})
    own = stem(word)
    return _FORMS.get(own, frozenset()) | {own}


@lru_cache(maxsize=50_000)
def is_same(one: str, other: str) -> bool:
    """Whether two stems are forms of one word, or one is the other, misspelt. Codes and numbers must be equal.

    >>> [is_same(*pair) for pair in (("expires", "expiry"), ("zopiclon", "zopicolne"), ("is-200", "is-310"), ("deliver", "deliveri"))]
    [True, True, False, True]
    """
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 4 or any(map(str.isdigit, one + other)):
        return False
    common = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(shorter))
    if common >= max(4, COMMON_BEGINNING * len(longer)):
        return True
    least = LEAST_SAME if len(shorter) >= LEAST_MISSPELT else LEAST_SAME_SHORT
    is_near = one[0] == other[0] and len(longer) - len(shorter) <= 2
    return is_near and SequenceMatcher(None, one, other, autojunk=False).ratio() >= least


def words_of(text: str) -> list[str]:
    """The words, codes and numbers of a text, in order: "IS-200" and "7.04" are one each.

    >>> words_of("How many IS-200, of 7.04 mm?")
    ['How', 'many', 'IS-200', 'of', '7.04', 'mm']
    """
    return WORD.findall(text)
