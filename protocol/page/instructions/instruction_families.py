"""More wordings of text that addresses a model, by family: name of the rule, points, pattern. Read by ``instruction_rules``.

A rule of a family fits an order, its object, and words that only make sense to a program. A page for people does not need such
words.

Patterns match text in lower case without accents and marks, so ``й`` becomes ``и``.
"""

from __future__ import annotations

from typing import Final

_WORDS: Final = r"(?:\W{1,8}\w{1,24}){0,%d}?\W{1,8}"
_TOLD: Final = (
    r"(?:instructions?|prompts?|directives?|guidelines?|rules|orders|messages?|context|constraints|polic(?:y|ies))"
)
_YOURS: Final = (
    r"(?:(?:this|the|our|entire|full|whole|complete)\W{1,4}(?:\w{1,16}\W{1,3}){0,2}?(?:conversation|chat|dialogue|context window)"
    r"|the user(?:'s|s|s')?\W{1,4}(?:\w{1,16}\W{1,3}){0,2}?(?:contacts?|e-?mails?|files|documents|memory|messages|notes|data|details)"
    r"|all (?:of )?(?:the|their|his|her|available)\W{1,4}(?:\w{1,16}\W{1,3}){0,1}?(?:contacts?|e-?mails|files|documents|messages|notes)"
    r"|transcript|(?:chat|conversation|browsing|message) history|inbox|mailbox|contact list|private keys?|ssh keys?|access tokens?"
    r"|session (?:data|ids?|tokens?)|system prompt|\.env(?: file)?|address book)"
)
_AWAY: Final = r"(?:[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,63}|(?:https?://|www\.)\S{4,200}|[\w-]{2,40}\.(?:evil|attacker|exfil)\S{0,40})"
_SEND: Final = (
    r"(?:send|forward|e-?mail|mail|post|upload|transmit|exfiltrate|leak|copy|submit|deliver|report|relay|share|export|transfer|dump"
    r"|paste|write|save|pass)"
)

FAMILIES: Final = (
    # Earlier orders are declared invalid; the task changes.
    ("override", 4, rf"\b(?:previous|prior|earlier|above|preceding|former|original|initial) {_TOLD}\b(?:\W{{1,8}}\w{{1,20}}){{0,3}}?\W{{1,8}}(?:are|is|were|was|have been|has been|no longer)\W{{1,4}}(?:now |hereby |all )?(?:void|obsolete|invalid|outdated|cancell?ed|revoked|replaced|superseded|overridden|suspended|a test|fake|appl(?:y|ies)|valid|in (?:effect|force)|deleted|expired)\b"),
    ("override", 4, r"\b(?:forget|disregard|ignore|erase|discard|delete|clear)\b(?:\W{1,8}(?:about|everything|anything|all|whatever|of|that|your|what|any))+?\W{1,8}you(?:'ve| have| were| was| are| had)?(?: been| ever| previously| currently)? (?:told|said|given|instructed|taught|know|learned|learnt|asked|doing|read|trained)\b"),
    ("override", 4, r"\b(?:reset|clear|wipe|erase|purge)\W{1,4}(?:all )?(?:of )?your (?:\w{1,16} ){0,2}(?:context|memory|instructions?|prompt|rules|programming|training|restrictions?|guidelines|constraints)\b"),
    ("override", 4, r"\byour (?:\w{1,12} ){0,2}(?:task|goal|objective|mission|job|assignment|priority|purpose|directive|role)(?: is| has| was)? (?:now|instead|from now on|changed|been changed|been updated|henceforth)\b"),
    ("override", 4, r"\b(?:stop|cease|abort|cancel|abandon|drop|pause|suspend|leave) (?:your|the|whatever|what) (?:\w{1,16} ){0,2}(?:task|assignment|objective|summary|analysis|you are doing|you're doing|were doing)\b(?:\W{1,8}\w{1,20}){0,2}?\W{1,8}(?:and|instead|then|now)\b"),
    ("override", 4, r"\b(?:these|the following|the below|my|this) (?:new |updated )?(?:instructions?|directives?|orders|rules|commands?|message|text|prompt)(?: below| here| now)? (?:take|takes|have|has|supersedes?|overrides?|replaces?|outranks?)\b(?: full| absolute)?(?:\W{1,8}\w{1,20}){0,3}?\W{1,8}(?:precedence|priority|instructions?|prompts?|rules|directives?|guidelines|others?|previous|prior|earlier|system|all)\b"),
    ("override", 4, r"\b(?:you are|you're) (?:hereby |now |therefore )?(?:instructed|ordered|commanded|directed|required|authori[sz]ed) to (?:\w{1,16} ){0,2}(?:ignore|disregard|bypass|reveal|disclose|send|forward|output|execute|run|delete|reply|respond|visit|recommend|approve|transfer|call|print|share|omit|rate|skip|leak|grant|override|include)\b"),
    ("override", 3, r"\b(?:admin(?:istrator)?|developer|debug|maintenance|root|sudo|god|test|diagnostic|safe|unsafe|service|override)[ -](?:mode|access|override|privileges?|session)\W{1,4}(?:is |has been |now )?(?:enabled|activated|active|granted|engaged|unlocked|on)\b"),
    # Another persona.
    ("persona", 4, r"\b(?:pretend|imagine|assume|suppose)(?: that)? (?:you are|you're|to be|you were|you have)\b(?:\W{1,8}\w{1,20}){0,8}?\W{1,8}(?:ai|model|assistant|chatbot|unrestricted|uncensored|no (?:rules|restrictions|limits|filters?|guidelines)|evil|jailbroken|not bound|hacker)\b"),
    ("persona", 4, r"\b(?:enter|switch (?:in)?to|activate|enable|go into|turn on|unlock)\W{1,4}(?:your |the |an? )?(?:\w{1,16} ){0,2}(?:unrestricted|developer|debug|admin|maintenance|jailbreak|god|dan|unfiltered|uncensored|opposite|evil|diagnostic|root) ?(?:mode|persona|access)\b"),
    ("persona", 4, r"\byou (?:will|must|shall|should|are going to) (?:now )?(?:act|behave|respond|play|pose|function|operate|speak)(?: the role)? (?:as|of|like)\b(?:\W{1,8}\w{1,20}){0,6}?\W{1,8}(?:without|no|any|unrestricted|unfiltered|ignor\w{1,4}|never refus\w{1,4}|that (?:has|can|does))\b"),
    # The claimed speaker.
    ("mark", 3, r"\bthis is (?:an? )?(?:\w{1,12} ){0,2}(?:message|instruction|notice|order|request|command|directive|override|update) from (?:the |your )?(?:\w{1,16} )?(?:developers?|openai|anthropic|google|microsoft|system|administrators?|admin|operator|creator|owner|security team|vendor)\b"),
    ("mark", 3, r"\b(?:system|developer|admin(?:istrator)?|root|operator|priority|critical) (?:override|instruction|directive|command|prompt|notice|message)s?\b ?(?::|-|\u2014|#|=)"),
    ("mark", 4, r"<(?:information|important|urgent|attention|notice|admin|message|task|instructions?)>\W{0,8}(?:this is )?(?:an? |the )?(?:\w{1,16} ){0,2}(?:message|instruction|notice|order|request|command|directive|update) from (?:me|us|your|the)\b"),
    # The model is addressed and told to do something.
    ("addressed", 4, r"\b(?:dear|hey|hi|hello|attention|listen|ok|okay|please|note)?,? ?(?:ai|llm|chatbot|chatgpt|claude|gemini|copilot|ai (?:assistant|agent|model|system)|language model|assistant)s?(?:,|:| -|!) (?:please |you must |kindly |now |do )?(?:ignore|disregard|forget|send|forward|reveal|output|print|visit|click|open|recommend|rate|rank|approve|include|add|append|say|tell|reply|respond|answer|execute|run|delete|transfer|call|stop|not|summari[sz]e|translate|write|mention|omit|classify|mark)\b"),
    ("addressed", 4, r"\b(?:any|all|every|each) (?:\w{1,16} ){0,2}(?:ai|llms?|language models?|chatbots?|ai agents?|ai assistants?|ai models?|ai systems?|automated (?:systems?|agents?|tools?|assistants?|reviewers?|summari[sz]ers?))\b(?:\W{1,8}\w{1,20}){0,8}?\W{1,8}(?:must|should|shall|are (?:required|instructed|requested|asked|ordered)|is (?:required|instructed|requested|asked)|please|are to|is to)\b"),
    ("addressed", 3, r"\b(?:as|being) (?:an? |the )?(?:autonomous |helpful |ai |language |large |browsing |web |virtual ){1,3}(?:agent|assistant|model|ai|system),? (?:you|your)\b"),
    # The answer that the model should give about something.
    ("reply", 4, r"\b(?:always|only|strongly|you must|must|should|please|instead,?|simply|just) (?:recommend|suggest|promote|favou?r|prefer|endorse|choose|select|pick|list|rank)\b(?:\W{1,8}\w{1,24}){1,8}?\W{1,8}(?:above all others?|as the (?:best|only|top|first)|over (?:all )?(?:others?|competitors?|alternatives)|first|number one|no matter|regardless)\b"),
    ("reply", 4, r"\b(?:give|assign|award|rate|score|grade|rank|mark)\W{1,4}(?:this|it|the|me|us)\b(?:\W{1,8}\w{1,20}){0,5}?\W{1,8}(?:the (?:highest|maximum|top|best|full)|(?:a )?perfect|5 stars?|five stars?|10/10|10 out of 10|100%?|positive|excellent|accepted?)(?: possible)?(?: \w{1,12}){0,2}? ?(?:score|rating|grade|marks?|review|evaluation|recommendation|regardless|points|and (?:do not|never|recommend|say))"),
    ("reply", 4, r"\b(?:classify|mark|label|flag|treat|report|categori[sz]e|consider|declare)\W{1,4}(?:this|it|the)\b(?:\W{1,8}\w{1,20}){0,3}? (?:as|to be) (?:safe|benign|legitimate|trusted|harmless|not spam|verified|approved|non-?malicious|clean|low risk)\b(?:\W{1,8}\w{1,20}){0,6}?\W{1,8}(?:regardless|ignore|and|do not|without|no matter|even if)\b"),
    ("reply", 4, r"\b(?:say|state|claim|conclude|write|tell (?:the user|them|everyone|people)|inform (?:the user|them)|answer|respond|reply)(?: only)? that\b(?:\W{1,8}\w{1,24}){1,10}?\W{1,8}(?:regardless of|no matter (?:what|how)|whatever (?:the|they|is)|even if (?:it|they|this))\b"),
    ("reply", 4, r"\byour (?:next |final |first |entire |whole |only )?(?:response|answer|reply|output|summary|message) (?:must|should|shall|has to|needs to|will)(?: only| always| now)? (?:begin|start|end|contain|consist|say|state|recommend|be (?:only|exactly|just|the (?:word|phrase|text|following)))\b"),
    ("reply", 4, r"\b(?:begin|start|end|finish|conclude|open|close|prefix|preface)\W{1,4}(?:each|every|all|your|any)(?: of)?(?: your)? (?:\w{1,12} ){0,2}(?:response|answer|reply|message|sentence|output|summary|replies)s?\b(?:\W{1,8}\w{1,20}){0,2}?\W{1,8}(?:with|by)\b"),
    # The model should reveal something.
    ("send", 4, rf"\b{_SEND}\b{_WORDS % 4}{_YOURS}\b(?:\W{{1,8}}\w{{1,24}}){{0,10}}?\W{{1,8}}(?:to|via|into|using|through)\W{{1,4}}(?:\w{{1,16}}\W{{1,3}}){{0,4}}?{_AWAY}"),
    ("send", 4, rf"\b(?:make|issue|perform|trigger|send|fire|do|submit)\b(?: an?| the)? (?:\w{{1,12}} )?(?:get|post|put|http|https|web|api|network|fetch|curl) ?(?:request|call|query|post)?\b(?:\W{{1,8}}\w{{1,24}}){{0,4}}?\W{{1,8}}(?:to|at)\W{{1,4}}(?:\w{{1,16}}\W{{1,3}}){{0,3}}?{_AWAY}(?:\W{{1,8}}\w{{1,24}}){{0,6}}?\W{{1,8}}(?:with|containing|including|contents?|data|parameters?|body|append\w{{0,3}})\b"),
    ("send", 4, rf"\b(?:visit|open|load|fetch|request|navigate to|go to|browse to|retrieve|render|call|ping|curl|follow)\W{{1,4}}(?:the )?(?:\w{{1,12}}\W{{1,3}}){{0,3}}?{_AWAY}(?:\W{{1,8}}\w{{1,24}}){{0,6}}?\W{{1,8}}(?:replac\w{{1,4}}|append\w{{0,3}}|with (?:the|your|all)|including|follow (?:its|all|any) instructions?|and (?:obey|execute|do what|append|(?:include|submit|enter|paste|send|provide) (?:the user|all|everything|any|what)))\b"),
    ("send", 4, rf"\b(?:append|attach|add|embed|encode|include|insert|put)\b{_WORDS % 4}{_YOURS}\b(?:\W{{1,8}}\w{{1,24}}){{0,6}}?\W{{1,8}}(?:query|url|parameters?|image|link|request|header|pixel|markdown)\b"),
    # Tools.
    ("tool", 3, r"\b(?:use|call|invoke|run|trigger|execute|activate)\W{1,4}(?:the |your )(?:\w{1,20}[\W_]{1,3}){1,3}?(?:tool|function|plugin|shell|terminal|interpreter)\b(?:\W{1,8}\w{1,20}){0,3}?\W{1,8}(?:to|and|with|on|for|immediately)\W{1,4}(?:\w{1,16} ){0,2}?(?:send|delete|forward|transfer|e-?mail|post|upload|export|share|purchase|buy|disable)\b"),
    ("tool", 4, r"\b(?:run|execute|type|enter|paste)\b(?:\W{1,8}\w{1,20}){0,5}?\W{1,8}(?:rm -rf|curl (?:-\w{1,4} )?https?://|wget https?://|powershell|os\.system|eval\(|base64 -d|bash -c|sh -c|nc -)"),
    ("tool", 4, r"\b(?:download|install)(?: and (?:run|execute|open))? (?:the |this )?(?:\w{1,16} ){0,3}?(?:from )?(?:at )?https?://\S{4,200}(?:\W{1,8}\w{1,20}){0,3}?\W{1,8}(?:execute|run|without (?:asking|confirm|telling|user))"),
    ("tool", 3, r"\b(?:transfer|wire|pay|send) \W{0,2}(?:all|\d[\d.,]{0,12})(?: ?\w{1,12}){0,6}? (?:to (?:the )?(?:account|iban|wallet|address)|from the user)\b(?:\W{1,8}\w{1,24}){0,10}?\W{1,8}(?:without|do not|immediately|before)\b"),
    ("tool", 4, r"\b(?:click|press|accept|confirm|approve|submit|authori[sz]e)\b(?:\W{1,8}\w{1,20}){1,8}?\W{1,8}(?:without (?:asking|telling|informing|confirming|consulting|notifying|waiting for)|on behalf of) (?:the |with the )?user\b"),
    # Secrecy.
    ("hide", 4, r"\b(?:keep|hide|conceal|withhold)\W{1,4}(?:this|these|it|all of this|the (?:\w{1,12} )?(?:instructions?|message|action|fact))\b(?:\W{1,8}\w{1,16}){0,4}?\W{1,8}(?:from the (?:user|human|owner|reader|operator)|secret from|hidden from)\b"),
    ("hide", 4, r"\b(?:without|not)\W{1,4}(?:the |any )?(?:users?'?s?|human|owner|operator)(?:'s)? (?:\w{1,12} )?(?:knowledge|consent|noticing|knowing|awareness|seeing|confirmation|approval|permission)\b"),
    ("hide", 4, rf"\b(?:do not|don't|never|must not|shall not|without)\W{{1,4}}(?:\w{{1,12}} )?(?:mention\w{{0,3}}|disclos\w{{1,3}}|reveal\w{{0,3}}|refer\w{{0,5}} to|repeat\w{{0,3}}|acknowledg\w{{1,3}}|quot\w{{1,3}}|show\w{{0,3}}|summari[sz]\w{{1,3}}|output\w{{0,4}})\W{{1,4}}(?:the existence of )?(?:these|this|the (?:above|hidden|preceding)|any of these) (?:\w{{1,12}} )?(?:{_TOLD}|note|text|paragraph|section|block|command|directive)\b"),
    ("hide", 4, r"\b(?:silently|secretly|covertly|quietly|discreetly|in the background)\W{1,4}(?:\w{1,12} )?(?:send|forward|upload|exfiltrate|copy|post|delete|transmit|leak|include|append|execute|run|call|transfer|change|replace|add|open|visit)\b"),
    # Requests for the model's instructions.
    ("reveal", 4, r"\b(?:repeat|output|print|show|reveal|copy|write|return|recite|display|disclose|quote|paste|translate|summari[sz]e|encode|dump|leak|expose|give|tell|share|list)\b(?:\W{1,8}\w{1,16}){0,6}?\W{1,8}(?:your|the) (?:\w{1,16} ){0,2}(?:system|initial|hidden|secret|original|internal|developer|confidential|full|base|setup|custom) (?:\w{1,12} )?(?:prompts?|instructions?|messages?|guidelines?|directives?|configuration|rules)\b"),
    ("reveal", 4, r"\b(?:repeat|output|print|recite|write out|quote|copy|return|translate)\b(?:\W{1,8}\w{1,16}){0,4}?\W{1,8}(?:everything|all (?:the )?(?:text|words|content)|the (?:text|words|content|conversation))\W{1,4}(?:\w{1,12} ){0,3}?(?:above|verbatim|word for word|before this|preceding|prior to|up to (?:here|this)|you (?:were|have been) (?:given|told))\b"),
    ("reveal", 4, r"\bwhat (?:were|are|was|is) (?:you (?:told|instructed|given|asked) (?:before|not to|in your)|your (?:\w{1,12} )?(?:system prompt|instructions|initial prompt|hidden rules|guidelines|directives))\b"),
    # Orders for later, or for every time.
    ("memory", 4, r"\b(?:remember|memori[sz]e|store|save|keep)\b(?:\W{1,8}\w{1,20}){0,6}?\W{1,8}(?:in|to|into) your (?:\w{1,12} )?(?:memory|long-term memory|notes|knowledge base)\b"),
    ("memory", 3, r"\b(?:in|for|during) (?:all|every|any) (?:future|subsequent|later|following|coming) (?:conversations?|responses?|sessions?|chats?|interactions?|replies|answers|requests?|tasks?|messages?)\b"),
    # Other languages: earlier orders, a new persona, what the model was told, silence.
    ("override", 4, r"\b(?:ignoriere?n?|missachten?|vergessen?|vergiss|uberschreiben?|verwirf|beachte)\b(?:\W{1,8}\w{1,24}){0,5}?\W{1,8}(?:anweisung(?:en)?|instruktion(?:en)?|vorgaben?|befehle?|regeln|richtlinien|prompts?|aufgabe)\b(?! auf)"),
    ("override", 4, r"\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|ne tiens? (?:pas|plus) compte|contourne[zr]?)\b(?:\W{1,8}\w{1,24}){0,5}?\W{1,8}(?:instructions|consignes|directives|regles|ordres)\b(?:\W{1,8}\w{1,24}){0,3}?\W{1,8}(?:precedente?s?|anterieure?s?|ci-dessus|et|initiales|donnees|systeme)\b"),
    ("override", 4, r"\b(?:ignor[ae][nd]?|olvid[ae]n?|descart[ae]n?|omit[ae]n?|desconsider[ae]|esque[cç]a|desobede[cz]\w{1,3})\b(?:\W{1,8}\w{1,24}){0,4}?\W{1,8}(?:instrucciones|instrucoes|ordenes|ordens|reglas|regras|directrices|diretrizes|indicaciones|comandos)\b"),
    ("override", 4, r"\b(?:ignora(?:te|re)?|dimentica(?:te|re)?|trascura|scarta|non seguire)\b(?:\W{1,8}\w{1,24}){0,4}?\W{1,8}(?:istruzioni|direttive|regole|ordini|indicazioni|comandi)\b"),
    ("override", 4, r"\b(?:negeer|vergeet|ignoreer|zignoruj|ignoruj|zapomnij|pomin|ignorera|glom)\b(?:\W{1,8}\w{1,24}){0,4}?\W{1,8}(?:instructies?|opdrachten|regels|aanwijzingen|instrukcje|polecenia|zasady|wytyczne|instruktioner|regler)\b"),
    ("override", 4, r"\b(?:игнорируи\w{0,3}|проигнорируи\w{0,3}|(?<!не )забудь\w{0,2}|не обращаи\w{0,2} внимания)\b(?:\W{1,8}\w{1,24}){0,4}?\W{1,8}(?:инструкци\w{1,3}|указани\w{1,3}|правила|команды|запросы)\b"),
    ("override", 4, r"(?:忽略|无视|忘记|無視|忽視)[^\n。]{0,12}(?:指令|指示|提示|规则|規則|说明|命令)|(?:指示|命令|指令|プロンフト|ルール)[をはに][^\n。]{0,6}(?:無視|忘れ)"),
    ("persona", 4, r"\b(?:du bist (?:jetzt|nun|ab sofort)|tu es (?:maintenant|desormais)|ahora eres|a partir de ahora eres|(?:ora|adesso|da ora) sei|agora voce e|je bent (?:nu|vanaf nu))\b(?:\W{1,8}\w{1,24}){0,6}?\W{1,8}(?:ohne|sans|sin|senza|sem|zonder|uneingeschrankt\w{0,2}|modus|mode|modo|ki|ia|assistent\w{0,2}|asistente|assistant|assistente|bot)\b"),
    ("reveal", 4, r"\b(?:zeige?|nenne|gib|verrate|wiederhole|offenbare|affiche[zr]?|montre[zr]?|revele[zr]?|repete[zr]?|donne|muestra|revela|repite|dime|mostra|rivela|ripeti|dimmi|mostre|revele|repita|toon|onthul|pokaz|ujawnij|покажи|раскрои|выведи)\b(?:\W{1,8}\w{1,24}){0,5}?\W{1,8}(?:system-?\W?prompts?|systemanweisung(?:en)?|systemnachricht|prompt (?:systeme|del sistema|de sistema|di sistema|do sistema)|instructions (?:systeme|initiales)|instrucciones (?:del sistema|iniciales)|istruzioni (?:di sistema|iniziali)|systeemprompt|systemowy prompt|системн\w{1,4} (?:промпт|инструкци\w{1,3}))\b"),
    ("hide", 4, r"\b(?:sage?|erwahne|verrate|teile?|informiere) (?:es |das |dies |dem (?:nutzer|benutzer|anwender) |den (?:nutzer|benutzer) ){0,2}?(?:nichts?|niemandem|nicht)\b(?:\W{1,8}\w{1,24}){0,3}?\W{1,8}(?:nutzer|benutzer|anwender|davon|darub\w{1,2}|anweisung(?:en)?)\b"),
    ("hide", 4, r"\b(?:ne (?:dis|dites|mentionne[zr]?|revele[zr]?|parle[zr]?|informe[zr]?)\W{1,4}(?:\w{1,12}\W{1,4}){0,2}?(?:pas|rien|jamais)\W{1,4}(?:\w{1,16}\W{1,4}){0,3}?(?:l'utilisateur|utilisateur|ces instructions|cette instruction)|no (?:se lo |le |lo )?(?:digas|menciones|reveles|informes)\W{1,4}(?:\w{1,16}\W{1,4}){0,3}?(?:al usuario|usuario|estas instrucciones)|non (?:dirlo|dire|menzionare|rivelare|informare)\W{1,4}(?:\w{1,16}\W{1,4}){0,3}?(?:all'utente|l'utente|utente|queste istruzioni)|nao (?:diga|mencione|revele|informe)\W{1,4}(?:\w{1,16}\W{1,4}){0,3}?(?:usuario|estas instrucoes))\b"),
)  # fmt: skip
STEMS: Final = {
    "override": "previous_ prior_ earlier_ preceding_ former_ original_ initial_ you_ve you've you_have you_were you_know erase clear"
    " wipe purge reset cease abort cancel abandon pause suspend precedence priority instructed authori ordered_to"
    " commanded directed_to required_to enabled activat granted unlocked engaged_ _active supersede outrank"
    " anweisung instruktion vorgabe befehl consignes directives instructions_pre ordres instrucciones instrucoes ordenes ordens"
    " reglas regras directrices diretrizes comandos istruzioni direttive ordini instructie opdrachten regels instrukcj polecenia"
    " wytyczne instruktioner игнорируи забудь внимания 忽略 无视 忘记 無視 忽視 忘れ your_task your_goal your_objective"
    " your_mission your_job your_assign your_priority your_purpose your_directive",
    "persona": "pretend imagine assume suppose switch activate unlock_ mode persona you_will you_must you_shall you_should"
    " jetzt ab_sofort maintenant desormais ahora adesso ora_sei agora bent_nu vanaf",
    "mark": "message_from instruction_from notice_from order_from request_from command_from directive_from override_from"
    " update_from override: instruction: directive: command: prompt: notice: message: override directive",
    "addressed": "llm chatbot chatgpt claude gemini copilot assistant ai, ai: ai! language_model automated autonomous ai_",
    "reply": "recommend suggest promote favor favour endorse highest maximum perfect stars 10/10 out_of_10 positive excellent"
    " classify legitimate benign harmless regardless no_matter whatever even_if your_response your_answer your_reply"
    " your_output your_summary your_next your_final your_first your_entire the_response the_answer the_next the_final"
    " begin start_ start finish preface prefix your_only",
    "send": "https:// http:// www. transcript inbox mailbox contact dialogue ssh_key access_token system_prompt .env_ address_book"
    " chat_ conversation all_the_ all_of_ all_their the_user query_ url_ pixel markdown",
    "tool": "tool function plugin shell terminal interpreter command rm_-rf curl wget powershell os.system eval( base64_-d"
    " bash_-c sh_-c nc_- without transfer wire behalf",
    "hide": "from_the_user from_the_human from_the_owner from_the_reader from_the_op secret_from hidden_from knowledge consent"
    " noticing knowing awareness seeing user's_ the_user the_human any_user must_not shall_not silently secretly covertly quietly"
    " discreetly background nutzer benutzer anwender davon nichts niemandem utilisateur usuario utente instrucciones istruzioni"
    " erwahne verrate",
    "reveal": "system_ system- initial hidden_ secret_ original_ internal_ developer_ confidential verbatim word_for_word"
    " you_told you_instructed you_given your_system your_instr your_guide your_hidden systemanweisung systemnachricht"
    " systeemprompt systemowy системн guidelines",
    "memory": "your_memory your_long your_notes knowledge_base future subsequent later_ following_ coming_ your_",
}
"""As in ``instructions``: words that a text must contain for these rules to fit."""
