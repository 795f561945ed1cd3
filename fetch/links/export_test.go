package links

// ReadXML is XML with another limit.
var ReadXML = readXML
