package links

var (
	// ReadXML is XML with another limit.
	ReadXML = readXML

	CSS     = styleSheet
	URIList = uriList
)
