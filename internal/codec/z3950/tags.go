package z3950

// Context-specific tags of the fields of messages, named after the fields in the standard's ASN.1
// definitions. Fields of different messages may have the same tag.
const (
	// InitializeRequest and InitializeResponse.
	TagProtocolVersion       = 3
	TagOptions               = 4
	TagPreferredMessageSize  = 5
	TagExceptionalRecordSize = 6
	TagIDAuthentication      = 7
	TagUserInformationField  = 11
	TagResult                = 12
	TagImplementationID      = 110
	TagImplementationName    = 111
	TagImplementationVersion = 112

	// The idPass form of idAuthentication.
	TagGroupID  = 0
	TagUserID   = 1
	TagPassword = 2

	// SearchRequest and SearchResponse.
	TagSmallSetUpperBound     = 13
	TagLargeSetLowerBound     = 14
	TagMediumSetPresentNumber = 15
	TagReplaceIndicator       = 16
	TagResultSetName          = 17
	TagDatabaseNames          = 18
	TagQuery                  = 21
	TagSearchStatus           = 22
	TagResultCount            = 23
	TagDatabaseName           = 105 // an element of databaseNames

	// PresentRequest, PresentResponse and, in part, SearchResponse.
	TagSimpleComposition         = 19 // recordComposition, simple
	TagGenericElementSetName     = 0  // of simple
	TagNumberOfRecordsReturned   = 24
	TagNextResultSetPosition     = 25
	TagPresentStatus             = 27
	TagResponseRecords           = 28
	TagNumberOfRecordsRequested  = 29
	TagResultSetStartPoint       = 30
	TagResultSetID               = 31
	TagPreferredRecordSyntax     = 104
	TagNonSurrogateDiagnostic    = 130
	TagMultipleNonSurDiagnostics = 205

	// NamePlusRecord.
	TagName                = 0
	TagRecord              = 1
	TagRetrievalRecord     = 1 // of record
	TagSurrogateDiagnostic = 2 // of record

	// The encoding of an EXTERNAL.
	TagSingleASN1Type = 0
	TagOctetAligned   = 1

	// ScanRequest and ScanResponse.
	TagScanDatabaseNames           = 3
	TagScanStepSize                = 5
	TagNumberOfTermsRequested      = 6
	TagPreferredPositionInResponse = 7
	TagStepSizeUsed                = 3
	TagScanStatus                  = 4
	TagNumberOfEntriesReturned     = 5
	TagPositionOfTerm              = 6
	TagEntries                     = 7

	// ListEntries, Entry and TermInfo.
	TagListEntries             = 1
	TagNonsurrogateDiagnostics = 2
	TagTermInfo                = 1
	TagDisplayTerm             = 0
	TagGlobalOccurrences       = 2

	// The type-1 query.
	TagType1Query          = 1
	TagOp                  = 0
	TagRPNRPNOp            = 1
	TagOperator            = 46
	TagAttributesPlusTerm  = 102
	TagAttributeList       = 44
	TagGeneralTerm         = 45
	TagCharacterStringTerm = 216
	TagAttributeSet        = 1
	TagAttributeType       = 120
	TagNumericAttribute    = 121
	TagComplexAttribute    = 224
	TagComplexList         = 1 // of a complex attribute
	TagStringAttribute     = 1 // of its list

	// Close.
	TagDiagnosticInformation = 3
	TagCloseReason           = 211
)
