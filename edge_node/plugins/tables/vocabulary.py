"""Words of questions about tables, English and German: what is to be done, and what is alike."""

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
    a ab aber about actually after again all alle allem allen aller alles already als also am an
    and angeben any anzeigen are as at auch auf aus be been before bei being bekommen bereits bin
    bis bisher bitte both but by can could current currently da damit dann darf das dass dem den
    der derzeit des did die dies diese diesem diesen dieser dieses do doch does doing dort du
    durch dürfen ein eine einem einen einer eines er es ever far for from für gab gegen geht
    gemacht get gets gibt give given got haben had happen happened has hat hatte hatten have her
    here his how i ich if ihr ihre im in ins into is ist it its ja je jede jedem jeden jeder jedes
    jemals just kann kein keine know können let liegt los made make makes mal man may me mehr mein
    mention mentioned might mit momentan more muss must my müssen nach name named need needs nenne
    nennen nicht no noch not now nun nur ob oder of off ohne on one ones only or other our out
    over overall per please pro record recorded records sagen say says schon see sein seine seit
    shall she should show shown shows sich sie since sind so soll sollen some stehen steht still
    such tell than that the their them then there these they this those through to um und under
    uns unser unter until up us vom von vor wann want war waren
    warum was we welche welchem welchen welcher welches wem wen wenn wer werden were wessen what
    when where which while who whole whom whose why wie wieso wieviel wieviele will wir wird with
    within without wo would wurde wurden yet you your zeige zeigen zu zum zur zurzeit zwischen
    über
    """.split()  # noqa: SIM905 - a list would be a page long
)
DOING = frozenset(  # what a query does, or compares by
    """
    above addiert aggregate alt amount anzahl average beide beiden below best between big biggest
    billig billigste both bottom change changed changes cheapest combined compare compared
    costliest count counts decrease decreased differ difference different differenz drei
    durchschnitt durchschnittlich durchschnittliche durchschnittlichen each earlier earliest early
    einzigen entries entry erste ersten erster every exactly exceed exceeded exceeding exceeds
    expensive fell fewer fewest first früh früheste frühesten geringste geringsten gesamt gesamte
    gesamten gestiegen gesunken gewachsen grew grow grown grows groß größte größten günstigste
    high higher highest hoch häufig höchste höchsten höher increase increased insgesamt klein
    kleiner kleinste kleinsten kürzeste kürzesten lang lange langsamste large larger largest last
    late later latest least less letzte letzten list liste lists long longer longest low lower
    lowest längste längsten many max maximal maximum mean meiste meisten min mindestens minimal
    mittel mittlere mittleren most much neu neueste neuesten never newest niedriger niedrigste
    niedrigsten niedrigster nothing number numbers oberhalb oft oldest once overall part percent
    percentage point points prozent prozentpunkte quantity rank ranked ratio rise risen rose row
    rows rund schnell schnellste second share short shorter shortest shrank sinkt small smaller
    smallest soar soonest sorted spät steigt sum summe summed teuer teuerste teuersten the third
    three times together top total totals twice two under unterhalb unterschied viel viele vielen
    weniger wenigsten worst wächst zahl zero zusammen zwei älteste ältesten
    """.split()  # noqa: SIM905
)
UNITS = frozenset(  # that a question may name, and a heading leave out
    """
    bar chf cm days eur euro euros g gbp h hours hrs kg km kw kwh l m m2 m3 m² m³ mg min ml mm mwh
    ntu usd µg
    """.split()  # noqa: SIM905
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
branch filiale niederlassung zweigstelle
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
    signs = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in signs if not unicodedata.combining(sign))


def stem(word: str) -> str:
    """A word without the commonest endings of both languages, in folded form.

    >>> [stem(word) for word in ("Suppliers", "lost", "Pumpen", "IS-200", "caused", "deliveries")]
    ['supplier', 'lost', 'pump', 'is-200', 'caus', 'deliver']
    """
    word = folded(word)
    if not word.isalpha():
        return word
    for ending in ("ungen", "ung", "ing", "ies", "ed", "es", "et", "en", "e", "s", "y"):
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
    """Whether two stems are forms of one word, or one is the other, misspelt.

    Codes and numbers must be equal.

    >>> is_same("expires", "expiry"), is_same("zopiclon", "zopicolne"), is_same("is-200", "is-310")
    (True, True, False)
    """
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 4 or any(map(str.isdigit, one + other)):
        return False
    pairs = enumerate(zip(one, other, strict=False))
    common = next((at for at, (a, b) in pairs if a != b), len(shorter))
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
