package z3950

// Context-specific tags of the fields of messages, named after the fields in the standard's ASN.1
// definitions. Fields of different messages may have the same tag.
const (
	// InitializeRequest and InitializeResponse.
	tagProtocolVersion       = 3
	tagOptions               = 4
	tagPreferredMessageSize  = 5
	tagExceptionalRecordSize = 6
	tagIDAuthentication      = 7
	tagUserInformationField  = 11
	tagResult                = 12
	tagImplementationID      = 110
	tagImplementationName    = 111
	tagImplementationVersion = 112

	// The idPass form of idAuthentication.
	tagGroupID  = 0
	tagUserID   = 1
	tagPassword = 2

	// SearchRequest and SearchResponse.
	tagSmallSetUpperBound     = 13
	tagLargeSetLowerBound     = 14
	tagMediumSetPresentNumber = 15
	tagReplaceIndicator       = 16
	tagResultSetName          = 17
	tagDatabaseNames          = 18
	tagQuery                  = 21
	tagSearchStatus           = 22
	tagResultCount            = 23
	tagDatabaseName           = 105 // an element of databaseNames

	// PresentRequest, PresentResponse and, in part, SearchResponse.
	tagSimpleComposition         = 19 // recordComposition, simple
	tagGenericElementSetName     = 0  // of simple
	TagNumberOfRecordsReturned   = 24
	TagNextResultSetPosition     = 25
	TagPresentStatus             = 27
	TagResponseRecords           = 28
	tagNumberOfRecordsRequested  = 29
	tagResultSetStartPoint       = 30
	tagResultSetID               = 31
	tagPreferredRecordSyntax     = 104
	tagNonSurrogateDiagnostic    = 130
	tagMultipleNonSurDiagnostics = 205

	// NamePlusRecord.
	tagName                = 0
	tagRecord              = 1
	tagRetrievalRecord     = 1 // of record
	tagSurrogateDiagnostic = 2 // of record

	// The encoding of an EXTERNAL.
	tagSingleASN1Type = 0
	tagOctetAligned   = 1

	// ScanRequest and ScanResponse.
	tagScanDatabaseNames           = 3
	tagScanStepSize                = 5
	tagNumberOfTermsRequested      = 6
	tagPreferredPositionInResponse = 7
	tagStepSizeUsed                = 3
	tagScanStatus                  = 4
	tagNumberOfEntriesReturned     = 5
	tagPositionOfTerm              = 6
	tagEntries                     = 7

	// ListEntries, Entry and TermInfo.
	tagListEntries             = 1
	tagNonsurrogateDiagnostics = 2
	tagTermInfo                = 1
	tagDisplayTerm             = 0
	tagGlobalOccurrences       = 2

	// The type-1 query.
	tagType1Query          = 1
	tagOp                  = 0
	tagRPNRPNOp            = 1
	tagOperator            = 46
	tagAttributesPlusTerm  = 102
	tagAttributeList       = 44
	tagGeneralTerm         = 45
	tagCharacterStringTerm = 216
	tagAttributeSet        = 1
	tagAttributeType       = 120
	tagNumericAttribute    = 121
	tagComplexAttribute    = 224
	tagComplexList         = 1 // of a complex attribute
	tagStringAttribute     = 1 // of its list

	// Close.
	tagDiagnosticInformation = 3
	tagCloseReason           = 211
)
