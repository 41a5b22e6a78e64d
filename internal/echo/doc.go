// Package echo notices when two speakers go on talking without saying anything
// new: thanks for thanks, a question and its answer again and again.
//
// It decides on texts alone and knows nothing of chats, stores or agents. Two
// texts are compared by the runs of three words they have in common, so that
// order counts and a changed word here and there does not make a text new.
//
// Read first: [Repeats]. [Similarity] is what it measures with.
package echo
