package links

var (
	// ReadXML is XML with a different limit.
	ReadXML = readXML

	CSS     = styleSheet
	URIList = uriList
)
