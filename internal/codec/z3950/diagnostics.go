package z3950

// Bib-1 diagnostics that clients handle or test servers send.
const (
	PermanentError      = 1
	TemporaryError      = 2
	OutOfRange          = 13
	PresentSystemError  = 14
	RecordNotAuthorized = 15
	RecordTooLarge      = 17
	NoElementSets       = 24
	BadElementSet       = 25
	ResultSetDeleted    = 27
	ResultSetInUse      = 28
	DatabaseLocked      = 29
	NoResultSet         = 30
	NoResources         = 31 // no results
	PartialResources    = 32 // unpredictable partial results
	SubsetResources     = 33 // a valid subset of the results
	UnspecifiedError    = 100
	AccessFailure       = 101
	NoAbstractSyntax    = 106
	NoDatabase          = 109
	BadAttributeType    = 113
	BadUse              = 114
	NoData              = 227
	EndOfTerms          = 241
	UnknownDatabase     = 235
	DatabaseDenied      = 236
	NotInSyntax         = 238
	BadSyntax           = 239
	BadUser             = 1010
	BadPassword         = 1011
	NoSearchesLeft      = 1012
	WrongInterface      = 1013
	AuthSystemError     = 1014
	NoSession           = 1015
	BlockedAddress      = 1016
	NoUserDatabases     = 1017
	OutOfResources      = 1018
	InMaintenance       = 1019
	LoginOutOfService   = 1020
	AccountExpired      = 1021
	PasswordExpired     = 1022
	PasswordChanged     = 1023
	BadAttribute        = 1024
	NoService           = 1025
	RecordLocked        = 1026
	RecordDeleted       = 1028
)

// meaning describes a code of diagnostic set Bib-1.
func meaning(code int64) string {
	return map[int64]string{
		1: "permanent system error", 2: "temporary system error", 3: "unsupported search",
		4: "only stop words", 5: "too many words", 6: "too many boolean operators",
		7: "too many truncated words", 9: "truncated words too short",
		11: "too many characters in the search", 12: "too many records",
		13: "present request out of range", 14: "system error in presenting records",
		15: "record not authorized to be sent", 16: "record exceeds the preferred message size",
		17: "record exceeds the maximum record size", 18: "result sets as search terms not supported",
		22: "named result sets not supported", 23: "combination of databases not supported",
		24: "element set names not supported", 25: "element set name not valid for the database",
		27: "result set no longer exists", 28: "result set in use", 29: "a database is locked",
		30: "result set does not exist", 31: "resources exhausted", 32: "resources exhausted",
		33: "resources exhausted", 100: "unspecified error", 101: "access-control failure",
		106: "no abstract syntax agreed to for this record", 107: "query type not supported",
		108: "malformed query", 109: "database unavailable", 110: "operator not supported",
		111: "too many databases", 113: "attribute type not supported",
		114: "use attribute not supported", 115: "term value not supported for the use attribute",
		116: "use attribute required", 117: "relation attribute not supported",
		118: "structure attribute not supported", 119: "position attribute not supported",
		120: "truncation attribute not supported", 121: "attribute set not supported",
		122: "completeness attribute not supported", 123: "combination of attributes not supported",
		124: "coded value not supported for the term", 125: "malformed search term",
		126: "illegal term value for the attribute", 128: "illegal result set name",
		205: "only step size zero supported in scans", 206: "step size not supported in scans",
		227: "no data available in the record syntax", 228: "malformed scan",
		229: "term type not supported", 232: "scan of this list not supported",
		233: "position in response not supported", 234: "too many terms",
		235: "database does not exist", 236: "access to the database denied",
		238: "record not available in the record syntax", 239: "record syntax not supported",
		240: "resources exhausted looking for terms", 241: "beginning or end of the list of terms",
		1001: "malformed message", 1007: "no Explain server", 1010: "bad user ID",
		1011: "bad user ID or password", 1012: "no searches remaining",
		1014: "authentication system error", 1015: "too many sessions of this user",
		1016: "blocked network address", 1017: "no databases for this user", 1018: "out of resources",
		1019: "in maintenance", 1020: "temporarily unavailable", 1021: "account has expired",
		1022: "password has expired", 1024: "attribute not supported",
		1025: "service not supported for this database", 1026: "record is locked",
		1028: "record deleted",
	}[code]
}
