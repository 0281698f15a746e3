/* Letters are scaled without hinting, so that widths grow in proportion with the size, and the SVG, whose viewer may
 * have another font, breaks its lines as the PNG does. */
#include "core/picture/picture_font.h"

#include <math.h>
#include <stdlib.h>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

/* The file of the font, as the assembler includes it. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl sl__font_file\n.hidden sl__font_file\nsl__font_file:\n"
	".incbin \"" SL_FONT_FILE "\"\n"
	".globl sl__font_file_end\n.hidden sl__font_file_end\nsl__font_file_end:\n"
	".byte 0\n"
	".popsection\n");
extern const unsigned char sl__font_file[], sl__font_file_end[];

#define UNITS 64.0f  /* FreeType's fractions of a pixel */

struct sl__font {
	FT_Library library;
	FT_Face face;
	float em;            /* present size */
};

struct sl__font *sl__font_open(void)
{
	struct sl__font *font = calloc(1, sizeof *font);
	if (font && (FT_Init_FreeType(&font->library) ||
		     FT_New_Memory_Face(font->library, sl__font_file, sl__font_file_end - sl__font_file, 0, &font->face))) {
		sl__font_close(font);
		return NULL;
	}
	return font;
}

void sl__font_close(struct sl__font *font)
{
	if (!font)
		return;
	if (font->face)
		FT_Done_Face(font->face);
	if (font->library)
		FT_Done_FreeType(font->library);
	free(font);
}

static void set_size(struct sl__font *font, float em)
{
	if (font->em != em)  /* the resolution of 72 makes a point a pixel */
		FT_Set_Char_Size(font->face, 0, (FT_F26Dot6)lroundf(em * UNITS), 72, 72);
	font->em = em;
}

static FT_UInt index_of(const struct sl__font *font, uint32_t code)
{
	FT_UInt index = FT_Get_Char_Index(font->face, code);
	return index ? index : FT_Get_Char_Index(font->face, '?');
}

bool sl__font_has(struct sl__font *font, uint32_t code)
{
	return FT_Get_Char_Index(font->face, code) != 0;
}

float sl__font_kern(struct sl__font *font, float em, uint32_t before, uint32_t code)
{
	FT_Vector kern = {0, 0};
	set_size(font, em);
	FT_Get_Kerning(font->face, index_of(font, before), index_of(font, code), FT_KERNING_UNFITTED, &kern);
	return (float)kern.x / UNITS;
}

float sl__font_advance(struct sl__font *font, float em, uint32_t code)
{
	set_size(font, em);
	if (FT_Load_Glyph(font->face, index_of(font, code), FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP))
		return 0;
	return (float)font->face->glyph->linearHoriAdvance / 65536;
}

bool sl__font_glyph(struct sl__font *font, float em, float shift, uint32_t code, struct sl__glyph *out)
{
	set_size(font, em);
	FT_GlyphSlot slot = font->face->glyph;
	if (FT_Load_Glyph(font->face, index_of(font, code), FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP))
		return false;
	if (slot->format == FT_GLYPH_FORMAT_OUTLINE)
		FT_Outline_Translate(&slot->outline, (FT_Pos)(shift * UNITS), 0);
	if (FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL))
		return false;
	*out = (struct sl__glyph){
		.left = slot->bitmap_left, .top = slot->bitmap_top, .width = (int)slot->bitmap.width,
		.height = (int)slot->bitmap.rows, .pitch = slot->bitmap.pitch, .cover = slot->bitmap.buffer,
		.advance = (float)slot->linearHoriAdvance / 65536,
	};
	return true;
}
