"""What an English label asks for: the kind that its translations are taught and measured as.

The rules read the verb a label begins with and what the verb is about. They are for English originals of message catalogues only,
where a text stands beside its translations. Nothing of them is used when a page is judged.

| kind | class of a control that says it |
|---|---|
| other | none: a topic, a name, a state; the model abstains |
| view | none: shows, opens, moves on, closes a view |
| search | none: searches, sorts, filters |
| begin | 4: often opens a form first (edit, add, new, upload) |
| change | 4: sends, saves, changes |
| pay | 5 |
| access | 6 |
| destroy | 7 |
| card | 5 for a field: the label of a field of payment |
| secret | 6 for a field: the label of a field of identity or access |
"""

from __future__ import annotations

import re
from typing import Final

WORDS_MAX: Final = 8
"""Longer labels are sentences, and taught as ``other`` unless they ask whether to destroy something."""

PLACE: Final = re.compile(r"%\(?\w*\)?[sd]|\{\{?[^{}]*\}?\}|\$\d|%\d?|<[^>]*>|&[a-z]+;|‹[^›]*›")
MNEMONIC: Final = re.compile(r"(?<![\w&])[&_](?=\w)|(?<=\w)[&_](?=\w+$)")
_KEEP: Final = re.compile(r"[^a-z0-9'’+-]+")


def _words(terms: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{terms})(?= |$)")


_WARNING: Final = re.compile(
    r"(?:cannot|can ?not|can't|can’t|could not) be (?:undone|reversed|recovered|restored|reverted)|(?:is|are) irreversible"
    r"|(?:permanently|irrevocably) (?:delete|remove|erase|destroy)|(?:want|wish|like) to (?:permanently )?(?:delete|remove|erase|"
    r"discard|revoke|deactivate|cancel (?:this|your|the) (?:order|account|subscription|booking))|really (?:delete|remove|erase)"
    r"|will be (?:permanently )?(?:deleted|removed|erased|lost)|no (?:way back|undo)|there is no undo"
)
_VIEW_DESTROY: Final = re.compile(
    r"(?:clear|reset|remove|delete|cancel)(?: (?:all|the|this|active|applied|my|current|price|date))* "
    r"(?:filters?|search|query|search (?:box|field|terms?|text|query|results?)|sorting|sort(?: order)?|selection|zoom|facets?|"
    r"refinements?|highlight(?:ing|s)?|view)$"
)
_DESTROY: Final = _words(
    "(?:permanently |bulk |force |mass |also |really |yes,? )?(?:delete|deletes|deleting|remove|trash|bin|discard|wipe|erase|destroy|purge|"
    "revoke|nuke|unsubscribe|uninstall|terminate|deactivate|unpublish|prune|flush|drop(?! (?:(?:an?|your|card) )?(?:\\w+ )?(?:here|to))|kill|ban|unlink|disconnect|reject|decline|"
    "shut ?down|power off|overwrite|detach|abandon|eject|invalidate|forget|withdraw|disown|evict|kick|retire|"
    "clean ?up|factory reset|format disk|log ?out|log ?off|sign ?out|unregister|unenrol|unenroll|leave(?! (?:a|an|at|empty|blank|it|as|feedback|space|out|this)(?: |$))|quit|delist)(?! (?:successful|failed|date|error)(?: |$))"
    "|move (?:\\w+ )?to (?:the )?(?:trash|bin|recycle bin)|(?:reset|clear)|empty (?:the )?(?:trash|bin|recycle bin|cart|basket|folder|spam|cache|queue|list$)|end (?:subscription|session|call|meeting|trial)"
    "|cancel (?:(?:my|your|this|the|all|an?) )?(?:\\w+ )?(?:orders?|subscriptions?|account|membership|bookings?|reservations?|contract|"
    "plan|appointments?|payments?|transfers?|trip|flight|event|meeting|invitations?|request|workflow|jobs?|builds?|tickets?|tasks?|"
    "registration)|close (?:(?:my|your|this|the) )?(?:\\w+ )?account|disable (?:(?:my|your|this|the) )?account"
    "|suspend (?:(?:my|your|this|the) )?(?:account|user|subscription)|block (?:this )?(?:user|account|member)|delete$"
)
_ACCESS_NOUN: Final = (
    r"(?:pass ?words?|passphrase|pass ?code|e-?mail(?: address(?:es)?)?|permissions?|(?:api|access|secret|private|ssh|security) "
    r"(?:keys?|tokens?)|tokens?|two[- ](?:factor|step)\b.*|2fa|mfa|otp|totp|recovery (?:codes?|keys?)|passkeys?|authenticator\b.*|roles?|"
    r"admin(?:istrator)?s?(?: rights)?|access(?: rights)?|privileges|credentials|security key|authentication|login)"
)
_ACCESS: Final = re.compile(
    rf"(?:change|set|update|edit|create|generate|add|new|renew|regenerate|enable|disable|activate|manage|verify|modify|grant|allow|give|"
    rf"reset|confirm|make|assign|request|turn (?:on|off)|set ?up)(?: (?:a|an|the|your|my|new|user|this|primary|another|email|as))*"
    rf" {_ACCESS_NOUN}$"
    r"|(?:authori[sz]e|impersonate|hijack user|grant|allow access|make admin|give access|promote to admin)(?= |$)"
)
_PAY: Final = _words(
    "(?:yes,? )?(?:pay|buy|purchase|checkout|place (?:your |the |my )?order|order now|order (?:with|and) pay|proceed to (?:checkout|payment)|"
    "transfer (?:money|funds)|send (?:money|payment)|donate|subscribe now|upgrade (?:now|plan|to \\w+|subscription|account)|top ?up|"
    "place (?:a )?bid|bid now|make (?:a )?(?:payment|donation)|complete (?:purchase|order|payment)|confirm (?:order|payment|purchase)|"
    "submit (?:order|payment)|refund|capture payment|mark as paid|invest|withdraw (?:money|funds)|deposit (?:money|funds)|add funds|"
    "start (?:free )?trial|renew subscription|create refund|issue refund|charge (?:card|customer)|pay now)"
)
_SEARCH: Final = re.compile(
    r"(?:advanced |quick |new |full[- ]text )?(?:search|find|look ?up|filters?|sort|refine|group by|order by)(?= |$)(?!.* (?:and replace|"
    r"settings|engines?|index|options?|preferences|and delete))|apply filters?$|update search$|show results$|keywords?$|query$"
    r"|sort(?:ed)? by|filter(?:ed)? by|search(?:ing)?$|browse$"
)
_VIEW: Final = _words(
    "view|show|hide|open|next|previous|prev|back|forward|go back|first|last|more|less|details?|expand|collapse|see|display|"
    "close|dismiss|cancel|got it|zoom(?: in| out)?|play|preview|help|read|refresh|reload|skip|browse|learn|toggle|go to|"
    "jump to|scroll|switch to|load more|return|back to|fullscreen|full screen|exit fullscreen|minimi[sz]e|maximi[sz]e|"
    "never mind|not now|maybe later|later|pause video|mute|unmute|copy|print|download|compare|explore|navigate|"
    "older|newer|today|list view|grid view|select all|deselect all|select none|unselect all|continue reading|read more|show more|"
    "move (?:up|down|left|right)|about|contact us|home|menu|navigation|faq|documentation|"
    "clear selection|invert selection|accept (?:all )?cookies|accept all cookies|reject cookies|light mode|dark mode|overview"
)
_NOT_VIEW: Final = re.compile(
    r"(?:close|cancel|open|hide|show|play|toggle|return|move|skip|last|first|less|more|next|switch to|dismiss|copy|mute|later|print|"
    r"back|display|download|pause)\b.*\b(?:ticket|issue|topics?|threads?|poll|discussion|contract|bug|conversation|case|"
    r"account|order|subscription|door|garage|cover|valve|lock|booking|registration|public(?:ly)?|for everyone|from everyone|user|members?|item|product|goods|"
    r"visibility|on|off|notifications?|admin|enabled|backup|up)\b"
    r"|(?:close|open) (?:and|selected|as)|cancel (?:and|my|your|all|selected|the)|return (?:item|order|product)|copy (?:and|to|from|page|item|project|"
    r"permissions|event|course|into|selected)|(?:back|next) and|more than|less than|"
    r"first name|last (?:name|login|modified|updated|seen|activity|edited|changed|visit|post)|hide (?:from|user|post|comment|topic|item)|"
    r"show (?:on|in|for|as) |open (?:registration|source|issue|for)|display name|next (?:run|due|execution)|toggle (?!\w*(?:bar|menu|nav|dropdown|"
    r"full|sidebar|panel|preview|navigation|details|search|theme|dark|view)).*|read (?:only|and write|write|access)|"
    r"play sound|preview and|mute (?:user|topic)|about to|help us|see also|more info(?:rmation)? is|home (?:address|phone|page|assistant|directory)|"
    r"today's|contact us at|print (?:and|server)|download (?:and install|updates?)|list of"
)
_CHANGE: Final = _words(
    "(?:please |bulk |auto |re|yes,? )?(?:send|post|publish|book|apply|submit|reply|comment|share|invite|reserve|register|sign ?up|enrol|enroll|vote|"
    "like|follow|unfollow|confirm|accept|agree|approve|request|schedule|deploy|merge|release|launch|start|stop|run|execute|upload|import|report|"
    "rsvp|join|create|save|add|update|replace|move|archive|unarchive|restore|connect|activate|enable|disable|forward|pause|"
    "resume|edit|rename|change|set|assign|unassign|insert|install|upgrade|mark|unmark|flag|pin|unpin|star|unstar|lock|unlock|attach|ship|"
    "complete|finish|reopen|resolve|convert|duplicate|clone|fork|sync|synchroni[sz]e|transfer|retry|restart|reboot|trigger|subscribe|"
    "watch|unwatch|block|unblock|suspend|unsuspend|protect|unprotect|rollback|revert|rebuild|regenerate|generate|reset to|"
    "claim|close (?:ticket|issue|topic|thread|poll|discussion|case|bug|conversation)s?|open (?:ticket|issue|door|garage|cover)|"
    "continue|proceed|ok|okay|yes|done|try again|hide (?:from|user|post|topic|item)|turn (?:on|off)|switch (?:on|off)|send again|resend|log ?in|sign ?in|"
    "write|record|deploy|configure|setup|set up|verify|validate|promote|demote|hold|unhold|enqueue|queue|checkin|check in|check-in|allow|"
    "bookmark|react|rate|review|recommend|remind|notify|snooze|acknowledge|escalate|split|combine|extend|renew|redeem|reorder|"
    "make (?:public|private|default)|new|adopt|arm|disarm|call|order|give|take|migrate|export to|push|pull|fetch|commit|stage|"
    "lend|borrow|return item|opt[- ](?:in|out)|finali[sz]e|perform|process|backup|back up|print and|copy (?:page|item|project|event|course)|place|"
    "sell|buy back|hire|reject suggestion|finish|exit and save|make|do it|go ahead|let's go|get started|begin)"
)
_BEGIN: Final = _words(
    "(?:bulk |quick )?(?:edit|add|new|create|upload|import|invite|share|report|configure|rename|customi[sz]e|manage|export|setup|set up|insert|attach|"
    "write|compose|comment|reply|leave (?:a|feedback)|change|upgrade|request|schedule|reorder|assign|record|review|rate|call|book|generate|"
    "modify|select file|choose file|connect|register|sign ?up|log ?in|sign ?in|get started|begin|settings|options|preferences|undo|redo|rotate)"
)
_NOT_CHANGE: Final = re.compile(
    r"(?:book|post|report|comment|share|vote|start|stop|set|move|like|order|call|update|release|request|schedule|register|follow|flag|lock|"
    r"archive|queue|place|record|review|rate|pin|star|new|make|hold|process|watch|run|ship|stage|commit|push|pull|fetch|launch|import|upload|"
    r"block|mark|change|split|pause|restore|upgrade|reply|complete|take|give|continue|backup|transfer|connect|copy)"
    r" (?:by|of|from|on|at|count|date|time|id|name|type|number|status|was|is|has|history|list|log|details?|content|title|text|settings|"
    r"options|queue|level|size|mode|format|page|point|rate|order|line|notes?|author|via|code|if|when|not|failed|successful|since|until)\b"
    r"|(?:new|add|edit|change|update)s$|.*(?:'s|’s)\b"
)
_UNCLEAR: Final = re.compile(
    r"(?:watch|order|track|mute|unmute|unhide|make (?:it |this )?(?:in)?visible|go to step|yes,? cancel|start (?:searching|search|over|typing|of)|"
    r"cancel (?:my|your) (?:changes|edits?)|discard .* and (?:show|view|redisplay).*|learn|study|dismiss .*|first|last)(?= |$)"
)
"""Verbs of which one application means a view and another a change."""
_STATED: Final = re.compile(
    r"(?:failed|errors?|successful|successfully|canceled|cancelled|required|available|enabled|disabled|zealand|caledonia)$"
)
_CARD: Final = re.compile(
    r"(?:credit |debit )?card (?:number|no\.?|holder|code)|cvc|cvv|iban|bic|sort code|(?:bank )?account number|card security code|"
    r"expir(?:y|ation) date \(?card|name on card|credit card(?: number)?$|swift|routing number"
)
_SECRET: Final = re.compile(
    r"(?:(?:your|new|old|current|repeat|confirm|retype|re-enter|enter(?: your)?|user|admin|database|smtp|email) )*"
    r"(?:pass ?words?|passphrase|pass ?code|pin(?: code)?|e-?mail(?: address(?:es)?)?|one[- ]time (?:code|password)|verification code|"
    r"security code|(?:api|access|secret|private) (?:key|token)|otp|recovery code|authentication code|backup codes?)"
    r"(?: (?:\(again\)|again|confirmation|\(confirm\)))?$"
)
FIXED: Final[dict[str, str]] = {
    "ok": "change", "yes": "change", "no": "view", "close ticket": "change", "cancel": "view", "close": "view", "apply": "change",
    "clear": "destroy", "reset": "destroy", "clear all": "destroy", "empty": "other", "clear filter": "search", "bin": "destroy",
    "trash": "destroy", "open": "view", "on": "other", "off": "other", "new": "begin", "like": "change", "order": "", "watch": "", "unwatch": "", "start search": "search", "watch video": "view", "drop down": "", "sign": "", "transfer": "pay",
    "withdraw": "pay", "subscribe": "pay", "upgrade": "pay", "copy link": "view", "accept all cookies": "view", "accept all": "view",
    "stop": "change", "leave": "destroy", "quit": "destroy", "disconnect": "destroy", "leave page": "view", "leave this page": "view",
    "logout": "destroy", "log out": "destroy", "sign out": "destroy", "log in": "begin", "login": "begin", "sign in": "begin",
    "first": "view", "last": "view", "more": "view", "less": "view", "home": "view", "today": "view", "set": "change", "add": "begin",
    "settings": "begin", "options": "begin", "help": "view", "info": "view", "information": "view", "about": "view", "details": "view",
    "menu": "view", "navigation": "view", "main menu": "view", "close menu": "view", "close dialog": "view", "close window": "view",
    "contact us": "view", "contact": "view", "language": "search", "languages": "other", "theme": "view", "search": "search",
    "payment": "other", "payments": "other", "report": "begin", "comment": "begin", "reply": "begin", "forgot password": "view",
    "forgot your password": "view", "forgotten password": "view", "lost password": "view", "show password": "view", "hide password": "view",
    "preferences": "begin", "undo": "begin", "undo changes": "change", "redo": "begin", "reject": "destroy", "decline": "destroy", "end": "other", "home page": "view",
    "print": "view", "download": "view", "share": "begin", "select": "view", "choose": "view", "select all": "view", "start": "change",
    "play": "view", "pause": "change", "resume": "change", "run": "change", "mute": "view", "unmute": "view", "unread": "other",
    "read": "view", "post": "change", "book": "change", "drop": "destroy", "kill": "destroy", "ban": "destroy", "done": "change",
    "expand": "view", "collapse": "view", "load more": "view", "got it": "view", "skip": "view", "skip to content": "view", "forward": "change",
    "forward to all": "change", "next": "view", "previous": "view", "back": "view", "move up": "view", "move down": "view",
    "delete files in linux": "other", "remember me": "change", "remind me later": "view", "never": "other", "clear history": "destroy",
    "key": "other", "token": "secret", "access": "other", "login name": "other", "sort": "search", "filter": "search", "filters": "search",
    "sorting": "search", "advanced search": "search", "find and replace": "change", "replace": "change", "password": "secret",
    "see all": "view", "view all": "view", "show all": "view", "more options": "view", "more information": "view", "learn more": "view",
}  # fmt: skip
"""Labels seen by hand whose kind no rule gives, and those that every application has."""


def plain(text: str) -> str:
    """An English label without placeholders, mark-up, mnemonics and punctuation, in lower case."""
    return _KEEP.sub(" ", MNEMONIC.sub("", PLACE.sub(" ", text)).lower().replace("’", "'")).strip(" -'+")


def kind_of(english: str) -> str:
    """The kind of an English label; empty if it is not taught."""
    text = plain(english)
    if not text or not re.search("[a-z]{2}", text):
        return ""
    if text in FIXED:
        return FIXED[text]
    if _WARNING.search(text):
        return "destroy"
    if len(text.split()) > WORDS_MAX or (english.rstrip().endswith((".", "!")) and len(text.split()) > 3):
        return "other"
    if english.rstrip().endswith("?"):
        return "destroy" if _DESTROY.match(text) else ""
    if _VIEW_DESTROY.match(text):
        return "search"
    if _SECRET.match(text):
        return "secret"
    if _CARD.match(text):
        return "card"
    if re.match(r"how (?:to|do)|why |what |when |where |who ", text):
        return "other"
    if re.search(r"(?:ed|ing)$", text.split()[0]) and text.split()[0] not in ("embed", "feed", "bring"):
        return "other"
    return _verb(text)


def _verb(text: str) -> str:
    if _UNCLEAR.match(text) and not re.match(r"order (?:now|and)|dismiss$", text):
        return ""
    if _DESTROY.match(text):
        return "destroy"
    if _ACCESS.match(text):
        return "access"
    if _PAY.match(text):
        return "pay"
    if _SEARCH.match(text):
        return "search"
    if _VIEW.match(text) and not _NOT_VIEW.match(text):
        return "view"
    if (_CHANGE.match(text) or _BEGIN.match(text)) and _STATED.search(text):
        return "other"
    if _BEGIN.match(text):
        return "" if _NOT_CHANGE.match(text) else "begin"
    if _CHANGE.match(text):
        return "" if _NOT_CHANGE.match(text) else "change"
    if _NOT_VIEW.match(text) and _VIEW.match(text):
        return ""
    return "other"
