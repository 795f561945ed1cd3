package tn3270

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// The structured field that has a response: Read Partition with the operations Query and Query List
// (GA23-0059, "Structured fields").
const (
	sfReadPartition = 0x01
	opQuery         = 0x02
	opQueryList     = 0x03
)

// queryReply is the reply to a query. It has a summary and the size of the screen (GA23-0059, "Query
// Reply (Summary)" and "Query Reply (Usable Area)").
var queryReply = []byte{aidStructured,
	0, 6, 0x81, 0x80, 0x80, 0x81,
	0, 23, 0x81, 0x81,
	0x01, 0x00, // 12-bit and 14-bit addresses
	0, Columns, 0, Rows,
	0x01,       // units are millimeters
	0, 1, 0, 3, // distance between points: 1/3 mm
	0, 1, 0, 3,
	9, 16, // points per character
	size >> 8, size & 0xff,
}

// structuredFields returns the reply to the queries, if there are any, and ignores other fields.
func structuredFields(p []byte) (reply []byte, err error) {
	for len(p) > 0 {
		if len(p) < 3 {
			return nil, errors.New("a structured field without a type")
		}
		n := int(binary.BigEndian.Uint16(p))
		if n == 0 { // the last field may have length 0
			n = len(p)
		}
		if n < 3 || n > len(p) {
			return nil, errors.New("a structured field with an invalid length")
		}
		if p[2] == sfReadPartition && n >= 5 && (p[4] == opQuery || p[4] == opQueryList) {
			reply = bytes.Clone(queryReply)
		}
		p = p[n:]
	}
	return reply, nil
}
