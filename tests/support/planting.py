"""Made-up identifiers of each kind that a policy can mask."""

import string

import phonenumbers
from stdnum import iban, luhn
from stdnum.iso7064 import mod_97_10

KINDS = ("email", "phone", "iban", "card", "ssn", "record")


def planted(kind, rng):
    digits = "".join(rng.choices(string.digits, k=12))
    match kind:
        case "email":
            return f"{rng.choice(['ann', 'b.lee', 'c_d+x'])}{digits[:3]}@{rng.choice(['example.org', 'mail.site-1.co.uk'])}"
        case "phone":
            region = rng.choice(["US", "GB", "DE", "FR"])
            example = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
            example.national_number = int(str(example.national_number)[:-4] + digits[:4])
            return phonenumbers.format_number(example, rng.choice([0, 1, 2]))
        case "iban":
            bank = f"37040044{digits[:10]}"
            return rng.choice([iban.format, iban.compact])(f"DE{mod_97_10.calc_check_digits(bank + 'DE')}{bank}")
        case "card":
            body = f"4{digits}00"
            number = body + luhn.calc_check_digit(body)
            return rng.choice([number, " ".join(number[place : place + 4] for place in range(0, 16, 4))])
        case "ssn":
            return f"{rng.randrange(100, 600)}-{rng.randrange(10, 99)}-{rng.randrange(1000, 9999)}"
        case _:
            return rng.choice(
                [f"MRN-{digits[:6]}", f"PAT{digits[:6]}", f"record no. {digits[:7]}", f"patient {digits[:6]}", f"case #{digits[:5]}"]
            )


def traces(kind, code):
    """Parts of an identifier that must not be left of it."""
    if kind == "email":
        return [code.split("@")[0]]
    digits = "".join(filter(str.isdigit, code))
    return [digits[:4], digits[-4:]]
