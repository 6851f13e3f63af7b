"""The words that identify requests that only read (``reads``), in lower case, without accents."""

from __future__ import annotations

from typing import Final

from protocol.risk.addresses.address_words import CHANGING, CHANGING_NAMES, CLEAR, WEAK, word_set

SEARCH_WORDS: Final = word_set(
    "search searching query find finder filter filtering lookup autocomplete autosuggest "
    "suggest suggestion typeahead complete completion facets facet quicksearch livesearch searchresults "
    "results msearch multisearch select browse explore suche suchen recherche rechercher buscar busca busqueda "
    "pesquisa pesquisar cerca ricerca zoeken szukaj wyszukaj poisk hledat vyhledat sok haku kereses cari go "
    "zoek sog hledani vyhledavani hladat wyszukiwanie szukanie cautare pretraga poshuk arama pencarian kiem"
)
SEARCHING_PLACES: Final = word_set("search searches query queries filter filters suggestions")
"""Ends of names for searching (``product-queries``). Alone, each may be a collection to which one more is added."""
LISTING_ENDS: Final = word_set("list liste lista lister listado elenco lijst seznam spisok daftar danhsach")
"""Ends of addresses that list the preceding word. The plural is a collection to which one more list is added."""
LIST_FIELDS: Final = word_set(
    "page pagenum pageno pageindex currentpage current pagesize perpage size limit offset cursor sort sortby sortorder "
    "orderby orderbycolumn isasc q query keyword keywords search filter filters where"
)
SEARCH_FIELDS: Final = word_set(
    "q query queries s search searchterm searchtext searchstring searchquery searchword searchfor searchvalue "
    "searchtype searchin searchby term terms text phrase keyword keywords kw kwd word words what where near fulltext "
    "match prefix suggest input page p pg pagenum pagenumber pageno pageindex currentpage pagesize perpage "
    "itemsperpage resultsperpage hitsperpage size limit top offset skip from to start end rows count length draw "
    "columns cursor after before first last take num max min total sort sortby sortorder sortdir sortfield "
    "sortdirection sorting order orderby orderdir ordering dir direction asc desc by rank ranking filter filters "
    "facet facets facetfilters numericfilters aggs aggregations aggregation refinements criteria conditions category "
    "categories cat cats categoryid type types kind tag tags topic topics lang language languages locale currency "
    "country countries region city location place address zip zipcode postcode lat lng lon latitude longitude radius "
    "distance bounds bbox zoom price prices pricemin pricemax minprice maxprice pricefrom priceto priceRange "
    "pricerange range date dates datefrom dateto fromdate todate startdate enddate since until checkin checkout "
    "arrival departure departuredate returndate origin destination nights year years month day week guests adults "
    "children infants rooms passengers brand brands color colors colour colours rating ratings stars author authors "
    "publisher model make series material gender condition availability instock available onsale status state states "
    "field fields include includes exclude excludes select source highlight highlighting fuzzy fuzziness exact "
    "operator boost explain view step time format display layout index indices indexname indexuid collection collections store "
    "shop site scope section requests searches params parameters attributestoretrieve attributestohighlight "
    "getrankinginfo distinct group groupby groupfield hits matchingstrategy showmatchespositions showrankingscore "
    "typotolerance synonyms queryby filterby facetby maxfacetvalues numtypos sessiontoken ids utf ie oe hl gl version "
    "timezone tz jql maxresults startat suchbegriff suchwort suche umkreis ort plz stadt datum abflug ankunft recherche "
    "motcle motscles ville depart arrivee busca busqueda pesquisa palabra palabras palavra palavras chave ciudad cidade "
    "origen destino origem ida vuelta volta pasajeros passageiros fecha ricerca cerca partenza arrivo citta "
    "zoekterm plaats datumvan sokord fraza slowo miasto tukhoa kelime"
)
SEARCH_SIGNS: Final = word_set(
    "q query queries s search searchterm searchtext searchstring searchquery searchword searchfor searchvalue term "
    "terms text phrase keyword keywords kw kwd word words what fulltext match prefix suggest input filter filters "
    "facet facets criteria conditions facetfilters category categories origin destination departure checkin requests "
    "searches params location city where near brand brands price pricemin pricemax minprice maxprice datefrom type "
    "types tag tags page jql suchbegriff suchwort suche ort plz recherche motcle motscles ville depart busca busqueda "
    "pesquisa palabra palabras palavra palavras origen origem ricerca cerca partenza zoekterm plaats sokord fraza tukhoa kelime"
)
TOKEN_FIELDS: Final = word_set(
    "csrf csrftoken csrfmiddlewaretoken token authenticitytoken requestverificationtoken xsrf xsrftoken formtoken "
    "formkey formid formbuildid nonce wpnonce utf8 viewstate viewstategenerator eventvalidation eventtarget "
    "eventargument lastfocus"
)
ACTION_FIELDS: Final = word_set(
    "action act do op oper operation cmd command func function task method verb event mode submit button btn btng "
    "btnsearch commit go searchbutton searchsubmit submitsearch methodoverride httpmethod intent handler"
)
READING_VERBS: Final = word_set(
    "get gets list lists search find fetch read reads load query lookup count show view describe info status stats "
    "check exists contains select filter browse all retrieve head peek ping version schema suggest autocomplete "
    "complete preview validate compute calculate estimate detail details summary subtotal items call balance help gas"
)
READING_ENDS: Final = word_set(
    "get list search find fetch read query count lookup balance version info status stats help"
)
"""Verbs that also count at the end of a name. In “sweep all”, “Input.Select” and “end call” the first word is the verb."""
RPC_READS: Final = word_set(
    "eth_chainId eth_blockNumber eth_accounts eth_call eth_coinbase eth_gasPrice eth_maxPriorityFeePerGas eth_feeHistory "
    "eth_blobBaseFee eth_syncing eth_protocolVersion net_listening net_peerCount web3_clientVersion web3_sha3"
)
"""Methods of Ethereum nodes that read and have no verb in their name."""
COMPUTING_WORDS: Final = word_set(
    "calculate calc compute estimate preview lint autocomplete typeahead lookup simulate calcular calcula calculer "
    "calculez berechnen vorschau"
)
"""Ends of addresses that compute something from the sent data. Words for operations that may also store, use up or mail something
are not included: validate, verify, check, convert, compare.
"""
COMPUTED_THINGS: Final = word_set("availability calculation estimation suggestions simulation")
"""The same after a reading verb: ``checkAvailability``."""
PERSON_FIELDS: Final = word_set(
    "email mail emailaddress youremail phone phonenumber telephone tel mobile firstname lastname fullname message"
)
"""Fields for a person who should be written to."""
CALLED: Final = word_set("ajax rpc api xhr jsonrpc webservice ws")
"""Ends of addresses at which a field names the called action."""
CALLS: Final = word_set("action call method func function cmd command op operation")
CALLS_THAT_READ: Final = word_set("get list search find fetch load query lookup count show view describe suggest")
"""Without “read”: a message that is read counts as read from then on."""
LANGUAGE_ADDRESSES: Final = word_set("setlang setlanguage setlocale switchlanguage changelanguage")
LANGUAGE_FIELDS: Final = word_set("lang language locale next returnto redirect referer")
WRITING_NOUNS: Final = word_set(
    "order comment report message mail link process charge login book post patch share transfer deposit schedule "
    "archive import release launch merge raw new notify upload review file flag mark sign record session copy reply "
    "start stop run complete bulk edit play"
)
"""Words that are writing verbs at the beginning of a name; elsewhere they name the object that is read."""
WRITING_VERBS: Final = (
    (CLEAR | CHANGING - CHANGING_NAMES | WEAK)
    - word_set("block end exit leave drop recall sair salir trash empty like follow lock rate pin star")
    - WRITING_NOUNS
) | word_set(
    "set add create make write put send submit register signup join apply buy pay withdraw move rename modify change "
    "replace assign attach execute exec trigger fire invoke generate grant invite subscribe commit push pop append "
    "increment decrement increase reindex rebuild sync deploy confirm checkout purchase donate upsert touch authorize "
    "authorise mutation mutate do perform eval evaluate migrate seed sendtransaction"
)
