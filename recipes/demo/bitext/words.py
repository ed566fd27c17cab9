"""The words: German and English, common ones first, since a word's place in its table sets how often it is drawn.

Nouns: lemma, gender (m, f, n; mw is a weak masculine), plural, ``|``, English; ``/`` parts alternatives, ``:`` an
irregular plural, ``_`` joins the words of one translation.
Verbs: infinitive (``ab|lehnen`` is separable, ``+zur_Verfügung`` a fixed part, ``sich`` a reflexive), third person,
past, participle (``*``: perfect with sein), ``|``, English with ``base:past:participle`` where irregular, then its own
fixed words.
Expressions: each word with the concepts that it expresses behind ``/``; ``?`` marks a fallback, no mark a word without
counterpart.
"""

PEOPLE = """
Minister m Minister | minister
Bürger m Bürger | citizen
Präsident mw Präsidenten | president
Experte mw Experten | expert
Frau f Frauen | woman:women
Vertreter m Vertreter | representative
Kind n Kinder | child:children
Arbeiter m Arbeiter | worker
Mann m Männer | man:men
Kollege mw Kollegen | colleague
Lehrer m Lehrer | teacher
Bauer mw Bauern | farmer
Richter m Richter | judge
Verbraucher m Verbraucher | consumer
Ärztin f Ärztinnen | doctor
Journalist mw Journalisten | journalist
Forscher m Forscher | researcher/scientist
Kanzlerin f Kanzlerinnen | chancellor
Wähler m Wähler | voter
Student mw Studenten | student
Unternehmer m Unternehmer | entrepreneur
Nachbar mw Nachbarn | neighbour
Sprecher m Sprecher | spokesman:spokesmen
Anwalt m Anwälte | lawyer
Kunde mw Kunden | customer
Polizist mw Polizisten | police_officer
Gegner m Gegner | opponent
Freund m Freunde | friend
Botschafter m Botschafter | ambassador
Händler m Händler | trader
Lehrerin f Lehrerinnen | teacher
Arzt m Ärzte | doctor/physician
Berichterstatter m Berichterstatter | rapporteur
Kommissar m Kommissare | commissioner
Ingenieur m Ingenieure | engineer
Bürgermeister m Bürgermeister | mayor
Künstler m Künstler | artist
Schüler m Schüler | pupil
Zeuge mw Zeugen | witness
Soldat mw Soldaten | soldier
Fischer m Fischer | fisherman:fishermen
Historiker m Historiker | historian
Ministerin f Ministerinnen | minister
Flüchtling m Flüchtlinge | refugee
Beobachter m Beobachter | observer
Dolmetscher m Dolmetscher | interpreter
Schriftsteller m Schriftsteller | writer
Nachfolger m Nachfolger | successor
Pilot mw Piloten | pilot
Bäcker m Bäcker | baker
Gärtner m Gärtner | gardener
Fürst mw Fürsten | prince
Schmuggler m Schmuggler | smuggler
Hebamme f Hebammen | midwife:midwives
"""

BODIES = """
Regierung f Regierungen | government
Kommission f Kommissionen | commission
Land n Länder | country
Parlament n Parlamente | parliament
Rat m Räte | council
Unternehmen n Unternehmen | company/firm
Stadt f Städte | city/town
Ausschuss m Ausschüsse | committee
Partei f Parteien | party
Mitgliedstaat m Mitgliedstaaten | member_state
Bank f Banken | bank
Gericht n Gerichte | court
Behörde f Behörden | authority
Schule f Schulen | school
Gewerkschaft f Gewerkschaften | trade_union
Universität f Universitäten | university
Mehrheit f Mehrheiten | majority
Ministerium n Ministerien | ministry
Verband m Verbände | association
Krankenhaus n Krankenhäuser | hospital
Gemeinde f Gemeinden | municipality
Zeitung f Zeitungen | newspaper
Agentur f Agenturen | agency
Institut n Institute | institute
Delegation f Delegationen | delegation
Kirche f Kirchen | church
Verein m Vereine | club
Armee f Armeen | army
Museum n Museen | museum
Genossenschaft f Genossenschaften | cooperative
Bündnis n Bündnisse | alliance
Stiftung f Stiftungen | foundation
Werkstatt f Werkstätten | workshop
Redaktion f Redaktionen | editorial_office
"""

THINGS = """
Vorschlag m Vorschläge | proposal/suggestion
Bericht m Berichte | report
Gesetz n Gesetze | law/act
Plan m Pläne | plan
Maßnahme f Maßnahmen | measure
Frage f Fragen | question/issue
Problem n Probleme | problem
Abkommen n Abkommen | agreement/accord
Reform f Reformen | reform
Entscheidung f Entscheidungen | decision
Projekt n Projekte | project
Lösung f Lösungen | solution
Programm n Programme | programme
Ziel n Ziele | goal/objective
Haushalt m Haushalte | budget
Richtlinie f Richtlinien | directive
Strategie f Strategien | strategy
Vertrag m Verträge | treaty/contract
Antrag m Anträge | motion/application
Markt m Märkte | market
Krise f Krisen | crisis:crises
Regel f Regeln | rule
Änderung f Änderungen | amendment/change
System n Systeme | system
Preis m Preise | price
Antwort f Antworten | answer/reply
Grund m Gründe | reason
Debatte f Debatten | debate
Verhandlung f Verhandlungen | negotiation
Recht n Rechte | right
Bedingung f Bedingungen | condition
Verordnung f Verordnungen | regulation
Studie f Studien | study
Entwurf m Entwürfe | draft
Abstimmung f Abstimmungen | vote
Brief m Briefe | letter
Fehler m Fehler | mistake/error
Straße f Straßen | road/street
Brücke f Brücken | bridge
Buch n Bücher | book
Rede f Reden | speech
Risiko n Risiken | risk
Beitrag m Beiträge | contribution
Sitzung f Sitzungen | meeting/session
Untersuchung f Untersuchungen | investigation
Netz n Netze | network
Zentrum n Zentren | centre
Konferenz f Konferenzen | conference
Fonds m Fonds | fund
Steuer f Steuern | tax
Norm f Normen | standard
Vorteil m Vorteile | advantage/benefit
Folge f Folgen | consequence
Schwierigkeit f Schwierigkeiten | difficulty
Erklärung f Erklärungen | declaration/statement
Forderung f Forderungen | demand
Kampagne f Kampagnen | campaign
Haus n Häuser | house
Gebäude n Gebäude | building
Schiff n Schiffe | ship
Zug m Züge | train
Maschine f Maschinen | machine
Fabrik f Fabriken | factory
Fahrzeug n Fahrzeuge | vehicle
Bild n Bilder | picture
Film m Filme | film
Karte f Karten | map
Schlüssel m Schlüssel | key
Urteil n Urteile | verdict/ruling
Vorwurf m Vorwürfe | accusation
Beweis m Beweise | proof:proofs
Kompromiss m Kompromisse | compromise
Grenze f Grenzen | border
Hafen m Häfen | port
Fluss m Flüsse | river
Wald m Wälder | forest
Kraftwerk n Kraftwerke | power_station
Bahnhof m Bahnhöfe | railway_station
Flughafen m Flughäfen | airport
Denkmal n Denkmäler | monument
Rechnung f Rechnungen | invoice/bill
Gutachten n Gutachten | expert_opinion
Brunnen m Brunnen | well
Teppich m Teppiche | carpet
Fahrplan m Fahrpläne | timetable
Handschrift f Handschriften | manuscript
Segelboot n Segelboote | sailing_boat
Leuchtturm m Leuchttürme | lighthouse
"""

GENERIC = """
Sicherheit f - | security
Bildung f - | education
Handel m - | trade
Demokratie f - | democracy
Forschung f - | research
Arbeitslosigkeit f - | unemployment
Freiheit f - | freedom
Klimawandel m - | climate_change
Wachstum n - | growth
Landwirtschaft f - | agriculture
Frieden m - | peace
Gesundheit f - | health
Armut f - | poverty
Gerechtigkeit f - | justice
Korruption f - | corruption
Gewalt f - | violence
Kultur f - | culture
Solidarität f - | solidarity
Terrorismus m - | terrorism
Tourismus m - | tourism
Zusammenarbeit f - | cooperation
Verantwortung f - | responsibility
Einwanderung f - | immigration
Globalisierung f - | globalisation
Wissenschaft f - | science
Vielfalt f - | diversity
Pressefreiheit f - | press_freedom
Umweltverschmutzung f - | pollution
Gleichberechtigung f - | equality
Überfischung f - | overfishing
"""

# What a compound begins with (its linking element included), and the English for it.
MODIFIERS = """
Haushalts budget
Energie energy
Handels trade
Sicherheits security
Steuer tax
Verkehrs transport
Arbeitsmarkt labour_market
Umwelt environment
Bildungs education
Finanz finance
Gesundheits health
Klima climate
Forschungs research
Friedens peace
Industrie industry
Wirtschafts economic
Verbraucherschutz consumer_protection
Menschenrechts human_rights
Agrar agricultural
Grenz border
Lebensmittel food
Wasser water
Daten data
Renten pension
Asyl asylum
Kultur culture
Medien media
Atom nuclear
EU- EU
Not emergency
Zoll customs
Fischerei fisheries
Flüchtlings refugee
Katastrophenschutz disaster_protection
Eisenbahn railway
Raumfahrt space
Sprach language
Schul school
Hafen port
Stadtentwicklungs urban_development
Abfall waste
Tierschutz animal_welfare
Wohnungsbau housing
Entwicklungs development
Erdgas natural_gas
UN- UN
Küsten coastal
"""

# Which nouns end compounds.
COMPOUND_HEADS = """
Plan Gesetz Reform Ausschuss Bericht Minister Projekt Programm Abkommen Krise Strategie Markt Richtlinie Behörde
Experte Vorschlag Debatte Problem Frage Konferenz Netz Zentrum System Fonds Maßnahme Regel Vertrag Preis Studie
Verband Ministerium Kommissar Agentur Verordnung Norm Kampagne Verhandlung Zeitung Ingenieur Institut Unternehmen
Forscher Bank Ziel
"""

TRANSITIVE = """
unterstützen unterstützt unterstützte unterstützt | support
ab|lehnen lehnt lehnte abgelehnt | reject
fordern fordert forderte gefordert | demand
prüfen prüft prüfte geprüft | examine
brauchen braucht brauchte gebraucht | need
an|nehmen nimmt nahm angenommen | adopt
begrüßen begrüßt begrüßte begrüßt | welcome
ändern ändert änderte geändert | change
finden findet fand gefunden | find:found:found
verbessern verbessert verbesserte verbessert | improve
verstehen versteht verstand verstanden | understand:understood:understood
vor|stellen stellt stellte vorgestellt | present
kritisieren kritisiert kritisierte kritisiert | criticise
beschließen beschließt beschloss beschlossen | approve
kennen kennt kannte gekannt | know:knew:known
schützen schützt schützte geschützt | protect
ein|führen führt führte eingeführt | introduce
sehen sieht sah gesehen | see:saw:seen
verhindern verhindert verhinderte verhindert | prevent
vor|bereiten bereitet bereitete vorbereitet | prepare
finanzieren finanziert finanzierte finanziert | finance/fund
fördern fördert förderte gefördert | promote
erwähnen erwähnt erwähnte erwähnt | mention
entwickeln entwickelt entwickelte entwickelt | develop
durch|führen führt führte durchgeführt | carry out
bekämpfen bekämpft bekämpfte bekämpft | combat/fight:fought:fought
lesen liest las gelesen | read:read:read
veröffentlichen veröffentlicht veröffentlichte veröffentlicht | publish
ab|schaffen schafft schaffte abgeschafft | abolish
schreiben schreibt schrieb geschrieben | write:wrote:written
stärken stärkt stärkte gestärkt | strengthen
unterzeichnen unterzeichnet unterzeichnete unterzeichnet | sign
diskutieren diskutiert diskutierte diskutiert | discuss
akzeptieren akzeptiert akzeptierte akzeptiert | accept
vor|schlagen schlägt schlug vorgeschlagen | propose
bezahlen bezahlt bezahlte bezahlt | pay:paid:paid for
auf|geben gibt gab aufgegeben | give:gave:given up
verteidigen verteidigt verteidigte verteidigt | defend
bauen baut baute gebaut | build:built:built
verschieben verschiebt verschob verschoben | postpone
loben lobt lobte gelobt | praise
ein|laden lädt lud eingeladen | invite
besuchen besucht besuchte besucht | visit
ab|schließen schließt schloss abgeschlossen | conclude
überwachen überwacht überwachte überwacht | monitor
kaufen kauft kaufte gekauft | buy:bought:bought
verlieren verliert verlor verloren | lose:lost:lost
vergessen vergisst vergaß vergessen | forget:forgot:forgotten
nutzen nutzt nutzte genutzt | use
ersetzen ersetzt ersetzte ersetzt | replace
+in_Frage stellen stellt stellte gestellt | question
beobachten beobachtet beobachtete beobachtet | observe
auf|lösen löst löste aufgelöst | dissolve
bedauern bedauert bedauerte bedauert | regret:regretted:regretted
berücksichtigen berücksichtigt berücksichtigte berücksichtigt | take:took:taken into account
verkaufen verkauft verkaufte verkauft | sell:sold:sold
untersuchen untersucht untersuchte untersucht | investigate
+zur_Verfügung stellen stellt stellte gestellt | provide
bedrohen bedroht bedrohte bedroht | threaten
zurück|ziehen zieht zog zurückgezogen | withdraw:withdrew:withdrawn
gründen gründet gründete gegründet | found
auf|nehmen nimmt nahm aufgenommen | include
erfüllen erfüllt erfüllte erfüllt | fulfil:fulfilled:fulfilled
vermeiden vermeidet vermied vermieden | avoid
bestätigen bestätigt bestätigte bestätigt | confirm
übersetzen übersetzt übersetzte übersetzt | translate
zerstören zerstört zerstörte zerstört | destroy
erneuern erneuert erneuerte erneuert | renew
um|setzen setzt setzte umgesetzt | implement
aus|arbeiten arbeitet arbeitete ausgearbeitet | draw:drew:drawn up
überprüfen überprüft überprüfte überprüft | review
verurteilen verurteilt verurteilte verurteilt | condemn
vereinfachen vereinfacht vereinfachte vereinfacht | simplify
verzögern verzögert verzögerte verzögert | delay
senken senkt senkte gesenkt | reduce
besprechen bespricht besprach besprochen | discuss
ein|reichen reicht reichte eingereicht | submit:submitted:submitted
aus|wählen wählt wählte ausgewählt | select
ab|sagen sagt sagte abgesagt | call off
+aufs_Spiel setzen setzt setzte gesetzt | jeopardise
an|erkennen erkennt erkannte anerkannt | recognise
widerlegen widerlegt widerlegte widerlegt | refute
fälschen fälscht fälschte gefälscht | forge
unterbrechen unterbricht unterbrach unterbrochen | interrupt
beschlagnahmen beschlagnahmt beschlagnahmte beschlagnahmt | confiscate
verspotten verspottet verspottete verspottet | mock
verschleiern verschleiert verschleierte verschleiert | conceal
"""

INTRANSITIVE = """
arbeiten arbeitet arbeitete gearbeitet | work
kommen kommt kam gekommen* | come:came:come
warten wartet wartete gewartet | wait
handeln handelt handelte gehandelt | act
an|kommen kommt kam angekommen* | arrive
zurück|treten tritt trat zurückgetreten* | resign/step down
schweigen schweigt schwieg geschwiegen | remain silent
gewinnen gewinnt gewann gewonnen | win:won:won
scheitern scheitert scheiterte gescheitert* | fail
lachen lacht lachte gelacht | laugh
teil|nehmen nimmt nahm teilgenommen | take:took:taken part
ab|reisen reist reiste abgereist* | leave:left:left
zögern zögert zögerte gezögert | hesitate
schlafen schläft schlief geschlafen | sleep:slept:slept
auf|geben gibt gab aufgegeben | give:gave:given up
protestieren protestiert protestierte protestiert | protest
zurück|kommen kommt kam zurückgekommen* | come:came:come back
reagieren reagiert reagierte reagiert | react
ein|schlafen schläft schlief eingeschlafen* | fall:fell:fallen asleep
sich irren irrt irrte geirrt | be mistaken
nach|geben gibt gab nachgegeben | give:gave:given in
auf|wachen wacht wachte aufgewacht* | wake:woke:woken up
"""

DATIVE = """
helfen hilft half geholfen | help
zu|stimmen stimmt stimmte zugestimmt | agree with
danken dankt dankte gedankt | thank
vertrauen vertraut vertraute vertraut | trust
widersprechen widerspricht widersprach widersprochen | contradict
antworten antwortet antwortete geantwortet | answer
folgen folgt folgte gefolgt* | follow
schaden schadet schadete geschadet | harm
dienen dient diente gedient | serve
drohen droht drohte gedroht | threaten
zu|hören hört hörte zugehört | listen to
bei|treten tritt trat beigetreten* | join
misstrauen misstraut misstraute misstraut | distrust
gratulieren gratuliert gratulierte gratuliert | congratulate
nach|laufen läuft lief nachgelaufen* | run:ran:run after
"""

# The preposition and its case stand behind the participle; its English is the last word.
PREPOSITIONAL = """
sprechen spricht sprach gesprochen über:acc | speak:spoke:spoken about
warten wartet wartete gewartet auf:acc | wait for
bestehen besteht bestand bestanden auf:dat | insist on
sorgen sorgt sorgte gesorgt für:acc | provide for
kämpfen kämpft kämpfte gekämpft gegen:acc | fight:fought:fought against
sich beteiligen beteiligt beteiligte beteiligt an:dat | participate in
stimmen stimmt stimmte gestimmt für:acc | vote for
ab|hängen hängt hing abgehangen von:dat | depend on
sich freuen freut freute gefreut über:acc | be pleased about
nach|denken denkt dachte nachgedacht über:acc | think:thought:thought about
verzichten verzichtet verzichtete verzichtet auf:acc | do:did:done without
arbeiten arbeitet arbeitete gearbeitet an:dat | work on
sich interessieren interessiert interessierte interessiert für:acc | be interested in
glauben glaubt glaubte geglaubt an:acc | believe in
rechnen rechnet rechnete gerechnet mit:dat | reckon with
aus|gehen geht ging ausgegangen* von:dat | proceed from
leiden leidet litt gelitten unter:dat | suffer from
träumen träumt träumte geträumt von:dat | dream of
protestieren protestiert protestierte protestiert gegen:acc | protest against
sich wenden wendet wandte gewandt gegen:acc | turn against
sich ein|setzen setzt setzte eingesetzt für:acc | stand:stood:stood up for
"""

DITRANSITIVE = """
geben gibt gab gegeben | give:gave:given
zeigen zeigt zeigte gezeigt | show:showed:shown
schicken schickt schickte geschickt | send:sent:sent
an|bieten bietet bot angeboten | offer
vor|legen legt legte vorgelegt | submit:submitted:submitted
erklären erklärt erklärte erklärt | explain
empfehlen empfiehlt empfahl empfohlen | recommend
übergeben übergibt übergab übergeben | hand over
verkaufen verkauft verkaufte verkauft | sell:sold:sold
verweigern verweigert verweigerte verweigert | deny
mit|teilen teilt teilte mitgeteilt | communicate
zurück|geben gibt gab zurückgegeben | return
"""

CLAUSAL = """
sagen sagt sagte gesagt | say:said:said
glauben glaubt glaubte geglaubt | believe
wissen weiß wusste gewusst | know:knew:known
hoffen hofft hoffte gehofft | hope
erklären erklärt erklärte erklärt | declare/explain
betonen betont betonte betont | stress/emphasise
fest|stellen stellt stellte festgestellt | note/find:found:found
denken denkt dachte gedacht | think:thought:thought
befürchten befürchtet befürchtete befürchtet | fear
behaupten behauptet behauptete behauptet | claim
bestätigen bestätigt bestätigte bestätigt | confirm
zu|geben gibt gab zugegeben | admit:admitted:admitted
hören hört hörte gehört | hear:heard:heard
bedauern bedauert bedauerte bedauert | regret:regretted:regretted
beweisen beweist bewies bewiesen | prove
vermuten vermutet vermutete vermutet | suspect
hinzu|fügen fügt fügte hinzugefügt | add
dar|legen legt legte dargelegt | set:set:set out
sich freuen freut freute gefreut | be pleased
erwarten erwartet erwartete erwartet | expect
"""

CONTROL = """
versuchen versucht versuchte versucht | try
beschließen beschließt beschloss beschlossen | decide
planen plant plante geplant | plan:planned:planned
versprechen verspricht versprach versprochen | promise
hoffen hofft hoffte gehofft | hope
beginnen beginnt begann begonnen | begin:began:begun
sich weigern weigert weigerte geweigert | refuse
vor|ziehen zieht zog vorgezogen | prefer:preferred:preferred
beabsichtigen beabsichtigt beabsichtigte beabsichtigt | intend
vergessen vergisst vergaß vergessen | forget:forgot:forgotten
drohen droht drohte gedroht | threaten
fort|fahren fährt fuhr fortgefahren* | continue
zögern zögert zögerte gezögert | hesitate
"""

COPULAS = """
sein ist war gewesen* | be
bleiben bleibt blieb geblieben* | remain
werden wird wurde geworden* | become:became:become
"""

EXISTENCE = "geben gibt gab gegeben | be"

ADJECTIVES = """
neu new
wichtig important
europäisch European
groß big/large
politisch political
gut good
alt old
klar clear
gemeinsam common/joint
klein small
sozial social
wirtschaftlich economic
national national
deutsch German
notwendig necessary
international international
schwierig difficult
öffentlich public
jung young
erfolgreich successful
französisch French
gefährlich dangerous
demokratisch democratic
umstritten controversial
teuer expensive
langsam slow
stark strong
schwach weak
britisch British
nützlich useful
ehrgeizig ambitious
rechtlich legal
falsch wrong
besonder special
polnisch Polish
vernünftig reasonable
modern modern
dringend urgent
technisch technical
zuständig responsible
umfassend comprehensive
unabhängig independent
regional regional
nachhaltig sustainable
italienisch Italian
einfach simple
billig cheap
gerecht fair/just
ausführlich detailed
wirksam effective
ländlich rural
menschlich human
historisch historic
ernst serious
reich rich
arm poor
zahlreich numerous
geheim secret
verantwortlich responsible
überflüssig superfluous
glaubwürdig credible
spanisch Spanish
schwedisch Swedish
hoch high
militärisch military
unzureichend insufficient
freiwillig voluntary
chinesisch Chinese
winzig tiny
großzügig generous
gründlich thorough
empfindlich sensitive
merkwürdig strange
griechisch Greek
verfassungsrechtlich constitutional
beispiellos unprecedented
unverzichtbar indispensable
trügerisch deceptive
baufällig dilapidated
"""

# Adjectives whose comparative is plain German -er and English "more".
COMPARABLE = """
wichtig schwierig erfolgreich gefährlich demokratisch nützlich ehrgeizig vernünftig modern dringend umfassend wirksam
nachhaltig ausführlich großzügig gründlich glaubwürdig
"""

PREDICATIVE = """
wichtig notwendig klar gut gefährlich schwierig neu umstritten erfolgreich falsch teuer nützlich gerecht wirksam
vernünftig dringend überflüssig stark schwach unzureichend einfach ehrgeizig unabhängig glaubwürdig modern
unverzichtbar geheim
"""

# Those that go with people.
PERSONAL = """
neu jung deutsch alt gut verantwortlich französisch ehrgeizig arm reich erfolgreich unabhängig europäisch britisch
ernst polnisch vernünftig zuständig stark italienisch glaubwürdig spanisch gefährlich großzügig schwedisch chinesisch
griechisch merkwürdig empfindlich schwach
"""

# Nouns that last for a while, for prepositions of time.
EVENTS = """
Krise Debatte Sitzung Konferenz Verhandlung Abstimmung Reform Rede Untersuchung Kampagne
"""
TEMPORAL = "nach vor während seit bei"
ATTRIBUTIVE = "für gegen über ohne mit"

NAMES = """
Weber Schmidt Müller Fischer Martin Wagner Becker Hoffmann Schulz Koch Richter Klein Wolf Schröder Neumann Schwarz Braun
Zimmermann Krüger Hartmann Lange Werner Krause Lehmann Köhler Maier Dupont Moreau Rossi Bianchi Novak Kowalski Jansen
Andersson Garcia Lindqvist Papadopoulos Szymanski Oberhuber Thorvaldsen Villeneuve Castellani Brzezinski
"""

FIRST_NAMES = """
Anna Peter Maria Thomas Julia Michael Sabine Paul Laura Martin Eva Stefan Claudia Jan Monika Klaus Ingrid Lukas Helga
Friedrich Ottilie Wolfgang
"""

PLACES = """
Deutschland Germany
Berlin Berlin
Europa Europe
Frankreich France
Brüssel Brussels
Paris Paris
Polen Poland
Italien Italy
London London
Spanien Spain
Wien Vienna
Griechenland Greece
Hamburg Hamburg
Rom Rome
Schweden Sweden
Österreich Austria
München Munich
Russland Russia
Köln Cologne
Dänemark Denmark
Straßburg Strasbourg
Ungarn Hungary
Warschau Warsaw
Afrika Africa
Prag Prague
Belgien Belgium
Finnland Finland
Athen Athens
Norwegen Norway
Lissabon Lisbon
Kroatien Croatia
Genf Geneva
Estland Estonia
Mailand Milan
Nürnberg Nuremberg
Island Iceland
Kopenhagen Copenhagen
Aserbaidschan Azerbaijan
Braunschweig Brunswick
"""

MONTHS = """
Januar January
Februar February
März March
April April
Mai May
Juni June
Juli July
August August
September September
Oktober October
November November
Dezember December
"""

WEEKDAYS = """
Montag Monday
Dienstag Tuesday
Mittwoch Wednesday
Donnerstag Thursday
Freitag Friday
Samstag Saturday
Sonntag Sunday
"""

NUMBER_WORDS = """
zwei two
drei three
vier four
fünf five
sechs six
sieben seven
acht eight
zehn ten
zwölf twelve
zwanzig twenty
"""

PAST_TIMES = """
gestern/1 = yesterday/1
letztes/1 Jahr/2 = last/1 year/2
damals/1 = at/1 that/1 time/1
kürzlich/1 = recently/1
vor/1 kurzem/1 = recently/1
letzte/1 Woche/2 = last/1 week/2
im/?1 vergangenen/1 Monat/2 = last/1 month/2
vorgestern/1 = the/1 day/1 before/1 yesterday/1
vor/1 drei/2 Tagen/3 = three/2 days/3 ago/1
"""

PRESENT_TIMES = """
heute/1 = today/1
jetzt/1 = now/1
zur/1 Zeit/1 = at/1 the/1 moment/1
derzeit/1 = currently/1
seit/1 langem/1 = for/1 a/1 long/1 time/1
heutzutage/1 = nowadays/1
in/1 diesen/2 Tagen/3 = these/2 days/3
"""

FUTURE_TIMES = """
morgen/1 = tomorrow/1
bald/1 = soon/1
nächste/1 Woche/2 = next/1 week/2
nächstes/1 Jahr/2 = next/1 year/2
in/1 Zukunft/2 = in/1 future/2
übermorgen/1 = the/1 day/1 after/1 tomorrow/1
demnächst/1 = before/1 long/1
in/1 zwei/2 Jahren/3 = in/1 two/2 years/3
"""

COMMENTS = """
leider/1 = unfortunately/1
deshalb/1 = therefore/1
natürlich/1 = of/1 course/1
außerdem/1 = moreover/1
vielleicht/1 = perhaps/1
zum/1 Beispiel/2 = for/1 example/2
wahrscheinlich/1 = probably/1
trotzdem/1 = nevertheless/1
tatsächlich/1 = in/1 fact/1
offenbar/1 = apparently/1
meiner/1 Meinung/2 nach/3 = in/3 my/1 opinion/2
zunächst/1 = first/1 of/1 all/1
glücklicherweise/1 = fortunately/1
zweifellos/1 = undoubtedly/1
auf/1 jeden/1 Fall/1 = in/1 any/1 case/1
im/1 Gegensatz/2 dazu/3 = in/1 contrast/2 to/3 this/3
selbstverständlich/1 = naturally/1
bekanntlich/1 = as/1 is/1 well/1 known/1
bedauerlicherweise/1 = regrettably/1
"""

MANNERS = """
oft/1 = often/1
immer/1 = always/1
schon/1 = already/1
schnell/1 = quickly/1
sofort/1 = immediately/1
gern/1 = gladly/1
endlich/1 = finally/1
ausdrücklich/1 = explicitly/1
kaum/1 = hardly/1
sorgfältig/1 = carefully/1
wirklich/1 = really/1
öffentlich/1 = publicly/1
manchmal/1 = sometimes/1
heimlich/1 = secretly/1
einstimmig/1 = unanimously/1
selten/1 = rarely/1
vorsichtig/1 = cautiously/1
freiwillig/1 = voluntarily/1
eilig/1 = hastily/1
"""

# Said in one language only.
PARTICLES = "ja doch wohl eben nun halt"
FILLERS = "indeed simply just actually"

VOCATIVES = """
Herr/1 Präsident/2 = Mr/1 President/2
Frau/1 Präsidentin/2 = Madam/1 President/2
meine/1 Damen/1 und/2 Herren/3 = ladies/1 and/2 gentlemen/3
Herr/1 Kommissar/2 = Commissioner/2
liebe/1 Kolleginnen/2 und/?2 Kollegen/2 = dear/1 colleagues/2
"""

# German, its case, English.
PREPOSITIONS = """
in dat in
für acc for
mit dat with
gegen acc against
nach dat after
über acc about
ohne acc without
wegen gen because_of
vor dat before
trotz gen despite
während gen during
bei dat at
aufgrund gen due_to
durch acc through
seit dat since
anstelle gen instead_of
neben dat next_to
hinsichtlich gen with_regard_to
"""

CONJUNCTIONS = """
weil because
wenn if
obwohl although
während while
bevor before
nachdem after
da since
sobald as_soon_as
damit so_that
solange as_long_as
falls in_case
"""

QUESTION_WORDS = """
warum why
wann when
wie how
wo where
weshalb why
"""
