"""The rules for text that addresses a model: name, points, pattern. Read by ``instructions``.

Patterns match text in lower case without accents. Gaps are bounded, and no repeated part contains another repeated part without a
border, so that no text makes them slow.
"""

from __future__ import annotations

from typing import Final

from protocol.page.instructions.instruction_families import FAMILIES

_GAP: Final = r"\W{1,8}(?:\w{1,24}\W{1,8}){0,%d}"

_OVERRIDE = (
    r"(?:ignor\w{0,6}|disregard\w{0,3}|forget|bypass\w{0,3}|override|overrule|supersede\w{0,2}|neglect|discard|abandon|set aside|pay no attention to|void|drop|missachte|vergiss|oublie\w{0,2}"
    r"|olvida\w{0,2}|dimentica\w{0,3}|do not follow|stop following|not bound by)"
)
_RULES_OF = (
    r"(?:instructions?|prompts?|guidelines?|directives?|guardrails?|restrictions|polic(?:y|ies)|programming|system message|rules"
    r"|constraints|safeguards|limitations|training|orders|commands|context|safety (?:checks?|measures)"
    r"|anweisung(?:en)?|richtlinien|regeln|instrucciones|directrices|reglas|istruzioni|regole|linee guida|consignes|regles"
    r"|directives)"
)
_BEFORE = (
    r"(?:previous\w{0,2}|prior|above|preceding|earlier|all|your|system|safety|developer|vorherig\w{0,3}|bisherig\w{0,3}|alle|deine\w?"
    r"|anterior\w{0,2}|todas|tus|precedent\w{0,2}|tutte|tue|toutes|tes|vos)"
)
_MODEL = (
    r"(?:ai|a\.i\.|ki|ia|llms?|gpt|chat ?bots?|bots?|assistants?|assistente|asistente|assistent|language models?|ai agents?|agents?"
    r"|ai systems?|ai models?|chatgpt|claude|gemini|copilot|automated readers?|crawlers?)"
)
_AI = (
    r"(?:ais?|llms?|gpt|chat ?bots|(?:large )?language models?|ai (?:agents?|assistants?|models?|systems?|bots?)|(?:automated|autonomous|browser|web) agents?"
    r"|chatgpt|claude|gemini|copilot)"
)
_SEND = r"(?<![\w-])(?:send|e-?mail|forward|post|upload|transmit|exfiltrate|leak|copy|submit|envoi\w{0,3}|sende\w?|envia\w{0,2}|invia\w{0,2}|schicke\w?)"
_DATA = (
    r"(?:passwords?|credentials?|api[ -]?keys?|secrets?|tokens?|cookies?|environment variables?|customer (?:list|data|emails?|database)"
    r"|user(?:'s)? (?:data|emails?|messages)|conversation|chat history|session|private (?:data|keys?|files?|admin)|confidential"
    r"|internal (?:data|config\w{0,8}|documents?)|order data|database|donnees clients?|kundendaten|datos de (?:los )?clientes|dati (?:dei )?clienti"
    r"|contrasenas?|passworter|mots de passe|credenziali|(?:this|the|every) (?:\w{1,12} )?summary|ssh keys?)"
)
_AWAY = r"(?:[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,63}|https?://\S{4,200}|extern\w{0,4}|attacker|webhook|this (?:address|url|server))"
_REPLY = r"(?:reply|replies|report|response|responses|answer|summary|summaries|output|review|antwort|reponse|respuesta|risposta)"

_OWN: Final = (
    ("override", 4, rf"\b{_OVERRIDE}{_GAP % 2}{_BEFORE}\b{_GAP % 3}{_RULES_OF}\b"),
    ("override", 4, rf"\b{_OVERRIDE}{_GAP % 3}{_RULES_OF}\b{_GAP % 3}(?:previous|above|given|before|anterior\w{{0,2}}|precedent\w{{0,2}})\b"),
    ("override", 4, rf"\b{_OVERRIDE}{_GAP % 1}(?:everything|anything|all)\W{{1,8}}(?:above|before|prior|the user|previous)"),
    ("override", 4, rf"\b{_OVERRIDE}{_GAP % 2}(?:the user(?: and|'s|,)|your operator|user's (?:task|request))"),
    ("override", 4, r"\b(?:new|updated|real|actual|true) (?:system )?(?:instructions?|directives?|task|orders?|rules)\b(?: is| are|:)"),
    ("override", 3, r"\b(?:safety|security|content) (?:protocols?|filters?|checks?|rules|polic(?:y|ies)|guidelines?)\b(?:\W{1,8}\w{1,20}){0,3}\W{1,8}(?:disabled|off|lifted|suspended|no longer|do(?:es)? not apply)"),
    ("override", 3, r"\byour (?:rules|instructions|guidelines|polic(?:y|ies)|task|role) (?:have|has|is|are) (?:now )?(?:changed|been|updated|different|void|to)"),
    ("persona", 4, r"\byou are (?:now|no longer)\b(?:\W{1,8}\w{1,20}){0,6}\W{1,8}(?:unrestricted|uncensored|jailbroken|dan|developer|without|no rules|free from|bot|assistant|ai|mode)\b"),
    ("persona", 4, r"\b(?:developer|god|unrestricted|jailbreak|dan|entwickler|desarrollador|sviluppatore|developpeur)\W?(?:mode|modus|modo)\b|\b(?:modo|mode|modalita) (?:desarrollador|developpeur|sviluppatore|sin restricciones|sans restrictions?)"),
    ("persona", 4, r"\b(?:pretend|act|respond|behave|roleplay|answer|reply|proceed|antworte\w?|repond\w{0,3}|responde\w?|rispond\w{1,4})\b(?:\W{1,8}\w{1,20}){0,8}\W{1,8}(?:no|any|without|ohne|sans|sin|senza)\b(?:\W{1,8}\w{1,20}){0,2}\W{1,8}(?:rules|restrictions?|filters?|limits?|limitations?|content policy|censorship|einschrank\w{0,6}|einschraenk\w{0,6}|beschrankung\w{0,2}|regeln|filtros?|restricciones|filtres?|regles|restrizioni|filtri|regole|limiti)\b"),
    ("persona", 4, r"\b(?:without|ohne|sans|sin|senza)\W{1,8}(?:\w{1,20}\W{1,8})?(?:restrictions?|filters?|limits|einschrank\w{0,6}|einschraenk\w{0,6}|restricciones|restrizioni|filtros?|filtri)\b(?:\W{1,8}\w{1,20}){0,2}\W{1,8}(?:answer|respond|reply|antwort\w{0,3}|repond\w{0,3}|responde\w{0,2}|rispond\w{0,4})\b"),
    ("persona", 4, r"\b(?:you|ai|model|mode|assistant|bot|dan)\b(?:\W{1,8}\w{1,20}){0,3}\W{1,8}(?:have|has|with) no (?:\w{1,12} )?(?:restrictions?|rules|filters?|limits?|content policy|guidelines)\b|\bdo anything now\b|\b(?:uncensored|unrestricted|unfiltered) (?:model|assistant|ai|mode|response)\b"),
    ("mark", 4, r"<\|?(?:im_start|im_end|system|endoftext|assistant)\|?>|\[/?(?:system|inst)\]|<</?sys>>|</?(?:thinking|system_prompt|instructions?)>"),
    ("mark", 4, r"(?:^|[\n\"#*-]) {0,3}(?:system|assistant|developer)(?: (?:note|notice|message|update|override|prompt|alert|command))?\s?: {0,2}(?=\w)"),
    ("mark", 4, r"\b(?:reasoning|thoughts?|thinking|chain of thought|scratchpad)(?: trace| log)? ?\((?:assistant|ai|model|agent|llm)\) ?:"),
    ("mark", 3, r"\b(?:system (?:note|notice|override|update|alert|command)|systemhinweis|systemnachricht|nota del sistema|nota di sistema|note systeme)\b"),
    ("mark", 3, r"[-=#*]{3,20} {0,3}(?:begin|end|start) of (?:the )?(?:document|user|system|context|prompt|input|data|page)"),
    ("addressed", 3, rf"\b(?:note|notice|message|instructions?|attention|important|hint|memo) (?:to|for|an) (?:the |any |all |every )?{_MODEL}\b"),
    ("addressed", 3, rf"\b(?:if|when) you (?:are|'re) an? {_MODEL}\b|\b{_MODEL} (?:reading|processing|reviewing|summari[sz]ing|integrating|visiting|parsing) (?:this|the)\b"),
    ("addressed", 2, rf"\b(?:for|dear|hey|hello|as an?|as the|als|en tant qu'|como|come) {_MODEL}\b"),
    ("addressed", 2, rf"\b{_MODEL} (?:must|should|needs? to|has to|have to|shall|will now)\b"),
    ("moment", 2, r"\bwhen(?:ever)? you (?:read|process|summari[sz]e|see|answer|parse|handle)\b|\bbefore you (?:answer|reply|respond|continue)\b|\bbefore (?:responding|replying|answering|continuing)\b"),
    ("reveal", 4, rf"\b(?:reveal\w{{0,3}}|show\w{{0,3}}|print\w{{0,3}}|repeat\w{{0,3}}|output\w{{0,4}}|tell\w{{0,3}}|display\w{{0,3}}|leak\w{{0,3}}|dump\w{{0,3}}|reproduc\w{{1,3}}|recit\w{{1,3}}|expos\w{{1,3}}|quote|paste|give me|what (?:is|are|was|were)|zeige?|montre|muestra|mostra|rivela|revele\w?|revela|add|share)\b{_GAP % 6}(?:system[ -]?prompts?|prompt (?:de sistema|di sistema|systeme)|hidden prompt|initial (?:instructions?|prompt)|(?:exact|operating|original|your) (?:\w{{1,12}} )?instructions?|context window|system message|words above|internal configuration)"),
    ("reveal", 3, rf"\b(?:reveal|show|print|output|list|dump|give|leak|provide|expose)\b{_GAP % 5}(?:credentials?|api[ -]?keys?|passwords?|environment variables?|secrets|admin pages?|private)\b"),
    ("send", 4, rf"\b{_SEND}(?:-\w{{2,4}})?{_GAP % 6}{_DATA}\b{_GAP % 6}(?:to|a|an|al|alla|externally|via|vers)?\W{{0,3}}{_AWAY}"),
    ("send", 4, rf"\b{_DATA}\b{_GAP % 5}(?!post){_SEND}(?:-\w{{2,4}})?{_GAP % 5}{_AWAY}"),
    ("send", 3, rf"\b{_SEND}{_GAP % 4}{_DATA}{_GAP % 2}externally\b|\balso {_SEND}{_GAP % 5}{_DATA}\b"),
    ("tool", 4, r"\b(?:call|invoke|use|run|execute|trigger)\b(?: the| a)?\W{1,4}(?:tool\W{1,4})?(?:send|delete|remove|http|post|write|read|exec|run|fetch|create|update|transfer|upload|download|execute|shell|forward|get|list|search)_[a-z_]{2,30}\b(?!\()"),
    ("tool", 2, r"\b(?:delete|empty|remove|wipe|overwrite)\b(?:\W{1,8}\w{1,20}){0,5}\W{1,8}(?:directory|files?|database|folder|repository|/var/\S{1,40}|\./\S{1,40})\b"),
    ("reply", 3, rf"\b(?:append|include|insert|begin|prepend|end|mention|hinzugefugt|angehangt|aggiunto|ajoute|anadirse|repeat)\b{_GAP % 10}(?:in |to |with |of |a |alla |an )?(?:your|my|every|each|all|the|toute|cualquier|ogni|jeder|any)\W{{1,3}}(?:\w{{1,12}} ){{0,2}}{_REPLY}\b"),
    ("reply", 4, rf"\b(?:append|include|insert|repeat|add|echo|quote)\b(?: the| this| its)? [a-z]{{2,20}}_[a-z]{{2,20}}\b{_GAP % 3}(?:in|to|at the end of|with) (?:your|every|each|any) (?:\w{{1,12}} ){{0,2}}{_REPLY}\b"),
    ("reply", 3, rf"\b(?:ende|fin|fine|final|end) (?:of |jeder |de |a la |der |di |de toute )?(?:\w{{1,12}} ){{0,2}}(?:{_REPLY})\b"),
    ("reply", 3, rf"\bin (?:your|every|each) (?:\w{{1,12}} ){{0,2}}{_REPLY}\b"),
    ("hide", 4, r"\b(?:do not|don't|never|without) (?:tell|mention|inform\w{0,3}|telling|mentioning|alert\w{0,3}|notify\w{0,3}|reveal\w{0,3}|asking|ask)\b(?:\W{1,8}\w{1,20}){0,5}\W{1,8}(?:the user|the human|anyone|this|again)\b"),
    ("decode", 4, r"\b(?:decode|decrypt|translate|unscramble|deobfuscate)\b(?:\W{1,8}\w{1,20}){0,12}\W{1,8}(?:do (?:exactly )?what|follow (?:it|the|its)|execute|obey|comply|run it)"),
    ("memory", 3, r"\b(?:remember|memory|memori[sz]e|persist\w{0,3}|retain)\b(?:\W{1,8}\w{1,20}){0,14}\W{1,8}(?:every|all|each|any) (?:future|later|subsequent)\b"),
    ("comply", 2, r"\b(?:comply|obey)\b(?:\W{1,8}\w{1,20}){0,3}\W{1,8}(?:every|any|all|following|fully|user)\b|\bfrom now on\b|\bwithout (?:question|exception|confirmation)\b|\bgrant all\b"),
    ("comply", 3, r"\b(?:exempt from|disregard|granted permission|skip all)\b(?:\W{1,8}\w{1,20}){0,5}\W{1,8}(?:restrictions?|polic(?:y|ies)|checks?|confirmations?|rules)\b"),
    # The following wordings need no word of another rule.
    ("addressed", 4, rf"\b(?:attention|warning|hidden instructions?|instructions?|notice|note|message|hint)(?:,| to| for)? (?:the |any |all |every )?{_AI}\b {{0,2}}[:,.]"),
    ("addressed", 4, rf"\b(?:note|notice|message|instructions?|hint|prompt) (?:to|for) (?:the |any |all |every )?{_AI}\b"),
    ("addressed", 4, rf"\b(?:if|since|because|when) (?:you are|you're|this is being read by) an? {_AI}\b(?! \w{{2,20}}(?:er|ist|or)s?\b)"),
    ("addressed", 4, rf"\b{_AI} (?:must|should|needs? to|has to|have to|shall|are required to|is required to) (?:output|say|state|ignore|visit|give|rate|reply|respond|recommend|include|answer|omit|open|click|send|not|only|always|never)\b"),
    ("addressed", 4, rf"\b{_AI} (?:evaluating|reviewing|reading|grading|screening|assessing|summari[sz]ing|ranking|scoring) (?:this|the)\b"),
    ("addressed", 4, rf"\b(?:as|being) an? {_AI},? you\b|<!-- ?(?:bot|ai|llms?|assistant|agents?) ?:"),
    ("addressed", 2, r"\bthe (?:ai|assistant|agent|bot|model) (?:will|must|should|is to) (?:now |then )?(?:transfer|wire|pay|enter|submit|send|share|forward|approve|delete|disclose|provide)\b"),
    ("moment", 4, r"\b(?:when|while|whenever|if|before|after) (?:you (?:are )?)?(?:summari[sz](?:e|ing)|describ(?:e|ing)|review(?:ing)?|translat(?:e|ing)) (?:this|the) (?:page|document|text|article|e-?mail|site|listing|file|ticket|message)\b(?:\W{1,8}\w{1,20}){0,3}\W{1,8}(?:say|state|claim|mention|omit|add|include|recommend|write|append|leave out)\b"),
    ("moment", 4, r"\b(?:say|write|print|output|include|state)\b.{1,60}\b(?:before|instead of|in place of) (?:answering|replying|responding|summari[sz]ing)\b"),
    ("reply", 4, r"\b(?:respond|reply|answer) (?:only |exactly |just )(?:with |by saying )?(?:the (?:word|text|phrase|string|following|sentence)\b|[\"'\u201c])"),
    ("reply", 4, r"\binstead of (?:answering|summari[sz]ing|replying|responding|following|completing)\b(?:\W{1,8}\w{1,20}){0,5}\W{1,8}(?:output|print|say|write|reply|list|send|reveal|show|visit|open)\b"),
    ("reply", 4, r"\b(?:do not|don't|never) (?:summari[sz]e|answer|respond to|complete|describe)\b(?:\W{1,8}\w{1,20}){0,6}\W{1,8}instead\b"),
    ("comply", 4, r"\b(?:from (?:this point|now|here) on(?:wards?|ward)?|henceforth),? (?:you|the assistant|the ai)(?:'ll| will| must| shall| are) (?:act|be|behave|answer|respond|reply|only|always|never|no longer|ignore|follow|obey|help|speak|an?\b)"),
    ("comply", 2, r"\bwithout (?:asking|requesting|waiting)(?: for)?(?: any)? (?:confirmation|permission|approval)\b"),
    ("persona", 4, r"\bact as (?:if you (?:were|are)|though you were)? ?(?:my|a|an|the)\b(?:\W{1,8}\w{1,20}){1,8}\W{1,8}(?:who|that) (?:used to|would always|always|could)\b"),
    ("override", 4, r"\byour (?:new|real|actual|true|only|sole) (?:goal|objective|purpose|mission|priority|job) is (?:now )?to\b"),
    ("override", 4, r"\bend of (?:the )?(?:user |original |initial )?(?:query|prompt|conversation|input|instructions?)\b\W{1,8}(?:new|begin|start|now|actual|real)\b|\bnew (?:user |system )?(?:query|prompt) (?:begins|starts|follows)\b"),
    ("override", 4, r"\byour (?:\w{1,12} )?(?:safeguards?|guardrails?|restrictions?|filters?|limitations?|safety \w{3,12})\b(?: are| have been| is| has been)(?: now)? (?:disabled|lifted|removed|suspended|off|deactivated)\b"),
    ("override", 4, r"\bstop what you(?: are|'re) doing\b(?:\W{1,8}\w{1,20}){0,2}\W{1,8}(?:click|send|visit|open|press|go to|call|run|transfer|tell|reply|output)\b"),
    ("reveal", 4, r"\b(?:print|repeat|output|reveal|display|copy|return|show)\b(?: me| back)? (?:everything|all(?: of)?(?: the)? (?:text|words|content|messages?)|the (?:text|words|messages?))\W{1,3}(?:that (?:is|came|comes) )?(?:above|before this|preceding|so far)\b"),
    ("reveal", 4, r"\b(?:list|describe|reveal|output|print|enumerate|dump)\b(?: all(?: of)?)? your (?:available |internal |own |current )?(?:tools|functions|plugins|configuration|config|memory|context|credentials|system settings|parameters)\b|\bthe contents? of your (?:memory|context|prompt|instructions?)\b"),
    ("hide", 4, r"\b(?:do not|don't|never|and not|without) (?:reveal|mention|disclose|acknowledg|admit)\w{0,4}(?: to \w{2,12})? (?:that you (?:received|were|have|read|saw)|these instructions|this (?:instruction|directive|prompt))\b"),
    ("send", 4, r"\b(?:append|add|put|attach|encode|include|embed)\b(?:\W{1,8}\w{1,20}){0,3}\W{1,8}(?:conversation|chat|history|memory|context window|user data|secrets?|passwords?|answers?)\b(?:\W{1,8}\w{1,20}){0,8}\W{1,8}https?://"),
    ("send", 4, r"\b(?:render|display|include|insert|show|add|output|embed)\b(?:\W{1,8}\w{1,20}){0,6}\W{1,8}!\[[^\]\n]{0,40}\]\(https?://[^)\n]{0,200}[?&]"),
    ("send", 4, r"\b(?:the )?user has (?:already |explicitly )?(?:authori[sz]ed|approved|permitted|allowed|asked|instructed) you to\b(?:\W{1,8}\w{1,20}){0,3}\W{1,8}(?:password|credential|credit card|secret|key|token|data|file|e-?mail|account)"),
    ("send", 3, r"\b(?:enter|type|submit|share|disclose|provide|send|give)\b (?:me |us )?the user'?s? (?:\w{1,12} )?(?:passwords?|credentials|card|e-?mails?|session|cookies?|tokens?|data)\b"),
    ("tool", 4, r"\b(?:execute|run|paste|enter)\b (?:the following|this) (?:\w{1,12} )?(?:command|code|script)\b(?:\W{1,8}\w{1,20}){0,3}\W{1,8}user's (?:machine|computer|system|device|behalf|terminal)\b"),
    ("tool", 4, r"\b(?:fetch|visit|open|request|curl|get|load|read)\b {1,3}(?:https?://)?(?:169\.254\.169\.254|metadata\.google|file:///|localhost)"),
)  # fmt: skip
PATTERNS: Final = (*_OWN, *FAMILIES)
